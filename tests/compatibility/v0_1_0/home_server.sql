BEGIN TRANSACTION;
CREATE TABLE dither_server (version BIGINT NOT NULL);
INSERT INTO "dither_server" VALUES(1);
CREATE TABLE dither_server_jobs (
        id TEXT PRIMARY KEY, process TEXT NOT NULL, analyst TEXT NOT NULL, dataset TEXT NOT NULL,
        request_id TEXT NOT NULL, seconds TEXT NOT NULL, started TEXT NOT NULL, seen TEXT NOT NULL, shown TEXT,
        outcome TEXT);
INSERT INTO "dither_server_jobs" VALUES('193476df5409220b9146ce2ea02b9411','8d1c2e3ea44feeaa','owner','pay','program','6.3','2026-11-16T11:20:44.844068+00:00','2026-11-16T11:20:44.847622+00:00','2026-11-16T11:20:57.444103+00:00','{"answer": {"dataset": "pay", "request_id": "program", "epsilon": 1.0, "delta": 0.0, "releases": [{"query": "program one", "value": 1.8452024736761814, "refused": false, "interval": [0.0, 2.0], "confidence": 0.95, "epsilon": 1.0, "delta": 0.0, "neighbours": "change-one", "calibration": "median (inverse)", "noise": "exponential", "missing": null, "labels": null, "reason": null}]}}');
INSERT INTO "dither_server_jobs" VALUES('c2f95261b5c10b71a8fb917f6296a685','8d1c2e3ea44feeaa','ann','pay','93666f2bf9158556e9d87c86d28819a3','0.05','2026-11-16T11:20:52.185479+00:00','2026-11-16T11:20:52.186574+00:00','2026-11-16T11:20:52.235521+00:00','{"answer": {"dataset": "pay", "request_id": "93666f2bf9158556e9d87c86d28819a3", "epsilon": 0.5, "delta": 0.0, "releases": [{"query": "median of pay", "value": 58179.09, "refused": false, "interval": [21514.48, 123360.61], "confidence": 0.95, "epsilon": 0.5, "delta": 0.0, "neighbours": "change-one", "calibration": "inverse", "noise": "exponential", "missing": 0.0, "labels": null, "reason": null}]}}');
CREATE TABLE dither_server_settings (dataset TEXT PRIMARY KEY, answer_seconds TEXT NOT NULL);
INSERT INTO "dither_server_settings" VALUES('visits','0.05');
CREATE TABLE dither_server_tokens (
        id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL, created TEXT NOT NULL,
        expires TEXT, revoked TEXT, rules TEXT NOT NULL);
INSERT INTO "dither_server_tokens" VALUES('fecb8b9e03a83b02','287c7b0868d4bee3bf5020b19c840cbd4d3ee5837ba4fbf9f6479c38aa842d88','owner','owner','2026-11-16T11:20:44.120702+00:00',NULL,NULL,'{}');
INSERT INTO "dither_server_tokens" VALUES('a21014c9d655bebd','01e27fddfc072ab1e7a1f6c64d69ebd05e1e60cf87033f15f1193379f54b2c26','ann','analyst','2026-11-16T11:20:44.488010+00:00',NULL,NULL,'{"epsilon_cap": null, "delta_cap": null, "kinds": null, "datasets": null}');
INSERT INTO "dither_server_tokens" VALUES('1f1916273b774bbc','3a62eb00be09bea96681669b9a66414cdd3de1508ca033dbce6d1aca3536071e','bob','analyst','2026-11-16T11:20:44.491200+00:00',NULL,NULL,'{"epsilon_cap": 2.0, "delta_cap": 1e-06, "kinds": ["median", "count"], "datasets": ["pay"]}');
INSERT INTO "dither_server_tokens" VALUES('dad06c9f15ddeeb2','9943e89236a76b23a38aa2029922ce691ad5ea83654262908679a7fec9312a45','gone','analyst','2026-11-16T11:20:44.500909+00:00','2026-11-16T11:21:44.500909+00:00','2026-11-16T11:20:44.507919+00:00','{"epsilon_cap": null, "delta_cap": null, "kinds": null, "datasets": null}');
COMMIT;
