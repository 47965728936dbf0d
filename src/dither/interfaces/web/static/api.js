// The server's API. The token stays in this tab: it is forgotten when the tab is closed.

const KEPT = "dither-token";

/** What the server refused, in its own words. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `the server answered with status ${status}`);
    this.status = status;
    this.code = body.code ?? "unknown";
    this.title = body.title ?? "";
    // Two ways to point: "column='x': …" for a field, "sql, line 1, column 8: …" for a place in a text.
    this.argument = body.argument ?? this.message.match(/^(?:query\.)?([a-z_]+)(?:=|, line | must | is )/)?.[1] ?? null;
    const place = this.message.match(/line (\d+), column (\d+)/);
    this.place = place
      ? { line: Number(place[1]), column: Number(place[2]), width: this.message.match(/^ *(\^+)$/m)?.[1].length ?? 1 }
      : null;
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEPT),
  set: (value) => sessionStorage.setItem(KEPT, value),
  forget: () => sessionStorage.removeItem(KEPT),
};

async function call(method, path, body) {
  const headers = { Accept: "application/json", Authorization: `Bearer ${token.get() ?? ""}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
  } catch {
    throw new Problem(0, {
      code: "unreachable",
      detail: "The server cannot be reached. If a question was on its way, ask it again: it is paid for once.",
    });
  }
  const text = await answer.text();
  let payload = {};
  try {
    payload = text ? JSON.parse(text) : {};
  } catch {
    payload = { detail: `the server answered with status ${answer.status} and no JSON` };
  }
  if (!answer.ok) throw new Problem(answer.status, payload);
  return { status: answer.status, payload };
}

const get = async (path) => (await call("GET", path)).payload;
const of = (name, rest = "") => `/v1/datasets/${encodeURIComponent(name)}${rest}`;

export const api = {
  me: () => get("/v1/me"),
  queries: async () => (await get("/v1/queries")).queries,
  datasets: async () => (await get("/v1/datasets")).datasets,
  dataset: (name) => get(of(name)),
  budget: (name) => get(of(name, "/budget")),
  quote: async (name, question) => (await call("POST", of(name, "/quote"), question)).payload,
  ask: (name, question) => call("POST", of(name, "/releases"), question),
  job: (id) => get(`/v1/jobs/${encodeURIComponent(id)}`),
  sources: () => get("/v1/sources"),
  columns: async (place) => (await call("POST", "/v1/sources/columns", place)).payload,
  register: async (body) => (await call("POST", "/v1/datasets", body)).payload,
  change: async (name, body) => (await call("PATCH", of(name), body)).payload,
  retire: async (name) => (await call("DELETE", of(name))).payload,
  tokens: async () => (await get("/v1/tokens")).tokens,
  createToken: async (body) => (await call("POST", "/v1/tokens", body)).payload,
  revoke: async (id) => (await call("DELETE", `/v1/tokens/${encodeURIComponent(id)}`)).payload,
  verify: (known) => get(`/v1/ledger/verify${known ? `?known=${encodeURIComponent(known)}` : ""}`),

  /** All entries of the ledger about a dataset, as they are chained, and the head of the chain. */
  async entries(name) {
    const all = [];
    for (;;) {
      const after = all.length ? all.at(-1).number : 0;
      const payload = await get(`/v1/ledger?dataset=${encodeURIComponent(name)}&limit=1000&after=${after}`);
      all.push(...payload.entries);
      if (!payload.entries.length || (payload.entries.length < 1000 && !payload.more)) return { entries: all, head: payload.head };
    }
  },

  /** All of the history, page by page, oldest first. */
  async history(name) {
    const all = [];
    for (;;) {
      const after = all.length ? `&after=${all.at(-1).number}` : "";
      const { releases, more } = await get(of(name, `/releases?limit=100${after}`));
      all.push(...releases);
      if (!releases.length || (releases.length < 100 && !more)) return all;
    }
  },
};

/** A name for a request: asked again under the same one, it is paid for once. */
export function requestId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((one) => one.toString(16).padStart(2, "0")).join("");
}
