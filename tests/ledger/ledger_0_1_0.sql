-- A ledger as version 0.1.0 wrote it: three names, two accounts, an analyst's budget, two charges, one release.
BEGIN TRANSACTION;
CREATE TABLE dither_accounts (
        id INTEGER PRIMARY KEY,
        parent INTEGER REFERENCES dither_accounts (id),
        analyst TEXT,
        version INTEGER NOT NULL CHECK (version >= 1),
        retired INTEGER NOT NULL CHECK (retired IN (0, 1)),
        kind TEXT NOT NULL CHECK (kind IN ('basic', 'advanced')),
        epsilon INTEGER NOT NULL CHECK (epsilon >= 0),
        delta INTEGER NOT NULL CHECK (delta >= 0),
        slack INTEGER NOT NULL CHECK (slack BETWEEN 0 AND delta),
        most_high INTEGER NOT NULL,
        most_low INTEGER NOT NULL CHECK (most_low BETWEEN 0 AND 999999999999999999),
        spent_epsilon INTEGER NOT NULL CHECK (spent_epsilon >= 0),
        spent_high INTEGER NOT NULL CHECK (spent_high >= 0),
        spent_low INTEGER NOT NULL CHECK (spent_low BETWEEN 0 AND 999999999999999999),
        spent_delta INTEGER NOT NULL CHECK (spent_delta >= 0),
        UNIQUE (parent, analyst),
        CHECK ((parent IS NULL) = (analyst IS NULL)),
        CHECK (spent_delta <= delta - slack),
        CHECK (kind = 'advanced' OR spent_epsilon <= epsilon),
        CHECK (kind = 'basic' OR spent_high < most_high OR (spent_high = most_high AND spent_low <= most_low))
    ) STRICT;
INSERT INTO "dither_accounts" VALUES(1,NULL,NULL,2,0,'advanced',1000000000,1000000000000,500000000000,0,33323353390316231,100000000,0,10000000000000000,0);
INSERT INTO "dither_accounts" VALUES(2,NULL,NULL,1,0,'basic',2000000000,0,0,0,0,500000000,0,250000000000000000,0);
INSERT INTO "dither_accounts" VALUES(3,1,'ann',1,0,'basic',500000000,100000000000,0,0,0,100000000,0,10000000000000000,0);
CREATE TABLE dither_entries (
        number INTEGER PRIMARY KEY CHECK (number >= 1),
        at TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('register', 'grow', 'allow', 'charge', 'release', 'retire')),
        dataset TEXT NOT NULL REFERENCES dither_names (dataset),
        analyst TEXT,
        request TEXT,
        key TEXT,
        charge INTEGER REFERENCES dither_entries (number),
        body TEXT NOT NULL,
        previous TEXT NOT NULL,
        hash TEXT NOT NULL
    ) STRICT;
INSERT INTO "dither_entries" VALUES(1,'2026-09-01T12:00:00.000+00:00','register','pay',NULL,NULL,NULL,NULL,'{"account":1,"filter":{"delta":1000000000000,"epsilon":1000000000,"kind":"advanced","slack":500000000000},"fingerprint":"file:/data/pay.parquet"}','0000000000000000000000000000000000000000000000000000000000000000','c36d8a15a9120887eda8ab769e466b7bd2f4dc89a0323935fc384e726a4c685d');
INSERT INTO "dither_entries" VALUES(2,'2026-09-01T12:00:00.000+00:00','register','wages',NULL,NULL,NULL,NULL,'{"account":1,"filter":{"delta":1000000000000,"epsilon":1000000000,"kind":"advanced","slack":500000000000},"fingerprint":"file:/data/pay.parquet"}','c36d8a15a9120887eda8ab769e466b7bd2f4dc89a0323935fc384e726a4c685d','13dca015bf5b6c9656477752af4db8cdcfb998abc633b96e6593d2bfc5aedbdd');
INSERT INTO "dither_entries" VALUES(3,'2026-09-01T12:00:00.000+00:00','register','survey',NULL,NULL,NULL,NULL,'{"account":2,"filter":{"delta":0,"epsilon":2000000000,"kind":"basic","slack":0},"fingerprint":null}','13dca015bf5b6c9656477752af4db8cdcfb998abc633b96e6593d2bfc5aedbdd','feca6b9720ab7369976bbe06e57ecf809c419fd199d5c939cab49184a1c92880');
INSERT INTO "dither_entries" VALUES(4,'2026-09-01T12:00:00.000+00:00','allow','pay','ann',NULL,NULL,NULL,'{"filter":{"delta":100000000000,"epsilon":500000000,"kind":"basic","slack":0}}','feca6b9720ab7369976bbe06e57ecf809c419fd199d5c939cab49184a1c92880','505e4a0a886437625bbedf895ba890299d290a433e3b3f3161c830715fb1d489');
INSERT INTO "dither_entries" VALUES(5,'2026-09-01T12:00:00.000+00:00','charge','pay','ann','one','16184e21d9fb3a1161f215dfe0b8e6142f002f4872b9b777df06fe771fd78594',NULL,'{"losses":[[100000000,0]],"question":{"column":"total_pay","epsilon":0.1,"query":"median"},"version":1}','505e4a0a886437625bbedf895ba890299d290a433e3b3f3161c830715fb1d489','295c156724b12dd5682ee449371e283e9460556c3acb125f46879af9a8def85e');
INSERT INTO "dither_entries" VALUES(6,'2026-09-01T12:00:00.000+00:00','release','pay','ann','one','16184e21d9fb3a1161f215dfe0b8e6142f002f4872b9b777df06fe771fd78594',5,'{"release":{"value":71417.25}}','295c156724b12dd5682ee449371e283e9460556c3acb125f46879af9a8def85e','8c22ea86068c6a20228b45fad4f62bd1c57c02cf49eb4808f1a990ccac38c141');
INSERT INTO "dither_entries" VALUES(7,'2026-09-01T12:00:00.000+00:00','charge','survey','local','two','16223fdaed78cb671224b8932bc8f42e37ec663a10bc29df2efe71bf81965e82',NULL,'{"losses":[[500000000,0]],"question":{"query":"count"},"version":1}','8c22ea86068c6a20228b45fad4f62bd1c57c02cf49eb4808f1a990ccac38c141','7b21d8ebfffb2f748a2f62bb669eb8b486ce9a3921aa11d1507e41d107c3a56c');
INSERT INTO "dither_entries" VALUES(8,'2026-09-01T12:00:00.000+00:00','grow','pay',NULL,NULL,NULL,NULL,'{"fingerprint":"file:/data/pay-2.parquet","version":2}','7b21d8ebfffb2f748a2f62bb669eb8b486ce9a3921aa11d1507e41d107c3a56c','0d374adce8e840698bd15f76c2f0cf020d279d445df82096c79d0bb9fec5aab6');
CREATE TABLE dither_fingerprints (
        fingerprint TEXT PRIMARY KEY,
        account INTEGER NOT NULL REFERENCES dither_accounts (id),
        version INTEGER NOT NULL
    ) STRICT;
INSERT INTO "dither_fingerprints" VALUES('file:/data/pay.parquet',1,1);
INSERT INTO "dither_fingerprints" VALUES('file:/data/pay-2.parquet',1,2);
CREATE TABLE dither_ledger (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        version INTEGER NOT NULL,
        number INTEGER NOT NULL CHECK (number >= 0),
        hash TEXT NOT NULL
    ) STRICT;
INSERT INTO "dither_ledger" VALUES(1,1,8,'0d374adce8e840698bd15f76c2f0cf020d279d445df82096c79d0bb9fec5aab6');
CREATE TABLE dither_names (
        dataset TEXT PRIMARY KEY,
        account INTEGER NOT NULL REFERENCES dither_accounts (id)
    ) STRICT;
INSERT INTO "dither_names" VALUES('pay',1);
INSERT INTO "dither_names" VALUES('wages',1);
INSERT INTO "dither_names" VALUES('survey',2);
CREATE UNIQUE INDEX dither_one_charge_per_request ON dither_entries (dataset, analyst, request)
        WHERE kind = 'charge';
CREATE UNIQUE INDEX dither_one_release_per_charge ON dither_entries (charge) WHERE kind = 'release';
CREATE INDEX dither_answers ON dither_entries (dataset, key) WHERE kind = 'release';
CREATE INDEX dither_histories ON dither_entries (dataset, number);
CREATE TRIGGER dither_entries_stay BEFORE UPDATE ON dither_entries
        BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER dither_entries_remain BEFORE DELETE ON dither_entries
        BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
COMMIT;
