-- What the storage of version 3 wrote: made by that version, with three messages in two channels.
PRAGMA user_version = 3;
BEGIN TRANSACTION;
CREATE TABLE answers (
    channel INTEGER NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
    first INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (channel, key)
) WITHOUT ROWID;
INSERT INTO "answers" VALUES(1,'k','92d9337e51282018735d92f344777a1460f0b404ffe60469dbfb489ad06694ec',0,2);
CREATE TABLE channels (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, messages INTEGER NOT NULL, updated REAL NOT NULL,
    people TEXT NOT NULL DEFAULT '[]'
);
INSERT INTO "channels" VALUES(1,'room',2,1.79500855870330309864e+09,'[{"id": "B1", "name": "Robo", "aliases": [], "bot": true}]');
INSERT INTO "channels" VALUES(2,'#other',1,1.79500855870339155197e+09,'[]');
CREATE TABLE checks (id INTEGER PRIMARY KEY, time REAL NOT NULL);
INSERT INTO "checks" VALUES(0,1.79500855870271253588e+09);
CREATE TABLE messages (
    channel INTEGER NOT NULL, number INTEGER NOT NULL, message TEXT NOT NULL, observation TEXT NOT NULL,
    PRIMARY KEY (channel, number)
) WITHOUT ROWID;
INSERT INTO "messages" VALUES(1,0,'{"speaker": "noor", "text": "my wifi is gone"}','{"number": 0, "message": {"speaker": "noor", "text": "my wifi is gone", "addressee": null, "time": null, "id": null, "reply_to": null, "kind": "message", "name": null, "mentions": [], "bot": false}, "addressees": [], "how": "inferred", "reason": "", "audience": "unknown", "asks": false, "replies_to": [0], "thread": 0, "thread_probability": 1.0}');
INSERT INTO "messages" VALUES(1,1,'{"speaker": "wren", "text": "noor: which card is it?"}','{"number": 1, "message": {"speaker": "wren", "text": "noor: which card is it?", "addressee": null, "time": null, "id": null, "reply_to": null, "kind": "message", "name": null, "mentions": [], "bot": false}, "addressees": [], "how": "inferred", "reason": "", "audience": "unknown", "asks": false, "replies_to": [1], "thread": 1, "thread_probability": 1.0}');
INSERT INTO "messages" VALUES(2,0,'{"speaker": "noor", "text": "my wifi is gone"}','{"number": 0, "message": {"speaker": "noor", "text": "my wifi is gone", "addressee": null, "time": null, "id": null, "reply_to": null, "kind": "message", "name": null, "mentions": [], "bot": false}, "addressees": [], "how": "inferred", "reason": "", "audience": "unknown", "asks": false, "replies_to": [0], "thread": 0, "thread_probability": 1.0}');
CREATE TABLE snapshots (channel INTEGER PRIMARY KEY, messages INTEGER NOT NULL, state TEXT NOT NULL);
INSERT INTO "snapshots" VALUES(2,1,'{}');
CREATE INDEX answers_in_order ON answers (channel, first);
COMMIT;
