BEGIN TRANSACTION;
CREATE TABLE dither_server (version BIGINT NOT NULL);
INSERT INTO "dither_server" VALUES(1);
CREATE TABLE dither_server_jobs (
        id TEXT PRIMARY KEY, process TEXT NOT NULL, analyst TEXT NOT NULL, dataset TEXT NOT NULL,
        request_id TEXT NOT NULL, seconds TEXT NOT NULL, started TEXT NOT NULL, seen TEXT NOT NULL, shown TEXT,
        outcome TEXT);
INSERT INTO "dither_server_jobs" VALUES('04697a7dfa02944420db57587d22753f','2aa8bb6656af26f3','owner','pay','program','6.3','2026-11-16T11:15:26.859322+00:00','2026-11-16T11:15:26.864858+00:00','2026-11-16T11:15:33.159351+00:00','{"answer": {"dataset": "pay", "request_id": "program", "epsilon": 1.0, "delta": 0.0, "releases": [{"query": "program one", "value": 1.2971817256620852, "refused": false, "interval": [0.0, 2.0], "confidence": 0.95, "epsilon": 1.0, "delta": 0.0, "neighbours": "change-one", "calibration": "median (inverse)", "noise": "exponential", "missing": null, "labels": null, "reason": null}]}}');
INSERT INTO "dither_server_jobs" VALUES('bcdba07a1defb53100bee798197b67de','2aa8bb6656af26f3','ann','pay','17d93464842055a68d6490625f97531c','0.05','2026-11-16T11:15:30.868747+00:00','2026-11-16T11:15:30.871725+00:00','2026-11-16T11:15:30.918789+00:00','{"answer": {"dataset": "pay", "request_id": "17d93464842055a68d6490625f97531c", "epsilon": 0.5, "delta": 0.0, "releases": [{"query": "median of pay", "value": 64146.11, "refused": false, "interval": [0.0, 151054.8], "confidence": 0.95, "epsilon": 0.5, "delta": 0.0, "neighbours": "change-one", "calibration": "inverse", "noise": "exponential", "missing": 0.0, "labels": null, "reason": null}]}}');
CREATE TABLE dither_server_settings (dataset TEXT PRIMARY KEY, answer_seconds TEXT NOT NULL);
INSERT INTO "dither_server_settings" VALUES('visits','0.05');
CREATE TABLE dither_server_tokens (
        id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL, created TEXT NOT NULL,
        expires TEXT, revoked TEXT, rules TEXT NOT NULL);
INSERT INTO "dither_server_tokens" VALUES('c55adf63d0149961','2180ea8e5aa10335284f267e0861f19645ece32b9edfaba5c9c04c5a72abd2fd','owner','owner','2026-11-16T11:15:26.479640+00:00',NULL,NULL,'{}');
INSERT INTO "dither_server_tokens" VALUES('8f59a9e600b214ad','4a15f7c7f1cf1bc66eda77ef2c9da42bdb481e0c9aecd4567c3b1db0778fb879','ann','analyst','2026-11-16T11:15:26.632114+00:00',NULL,NULL,'{"epsilon_cap": null, "delta_cap": null, "kinds": null, "datasets": null}');
INSERT INTO "dither_server_tokens" VALUES('8c492bf9c7e39204','a515da7af3c41560767c190ccc1b589039900338c1b1bdda1f41ed4d1097e3cf','bob','analyst','2026-11-16T11:15:26.635195+00:00',NULL,NULL,'{"epsilon_cap": 2.0, "delta_cap": 1e-06, "kinds": ["median", "count"], "datasets": ["pay"]}');
INSERT INTO "dither_server_tokens" VALUES('aac1ada7451bd3f2','0a058e8a049e441744cc4795784296111798804c73f896b14205612cfadca588','gone','analyst','2026-11-16T11:15:26.637970+00:00','2026-11-16T11:16:26.637970+00:00','2026-11-16T11:15:26.640570+00:00','{"epsilon_cap": null, "delta_cap": null, "kinds": null, "datasets": null}');
COMMIT;
