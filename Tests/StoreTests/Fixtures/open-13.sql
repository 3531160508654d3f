-- Open writes in every state, as a release of schema 13 has left them: rows for a copy of that schema. Written once, by its
-- programs against the server of the tests (12 items, seed 42), and not to be changed.
-- #1 an edit in conflict. #2 delivered, not yet verified. #3 of a URL that was there, and #4 what follows it. #5 unknown, and applied.
-- #6 being sent. #7 a note. #8 a note, and #9 with an edit. #10 an edit. #11 an edit, and #12 in its place. #13 an edit behind the
-- deletion #14. #15 a change of tags. #16 a deletion. #17 and #18 edits, and #19 in their place.
DELETE FROM copy;
DELETE FROM item;
DELETE FROM coverage;
DELETE FROM crowded_instant;
DELETE FROM rejected_item;
DELETE FROM held_deletion;
DELETE FROM unanswered_suspect;
DELETE FROM outbox;
DELETE FROM outbox_attempt;
DELETE FROM local_item;
DELETE FROM local_edit;
DELETE FROM held_item;
DELETE FROM pull;
DELETE FROM recurring_error;
DELETE FROM connectivity_transition;
DELETE FROM item_body;
DELETE FROM text_problem;
DELETE FROM search_document;
DELETE FROM search_piece;
DELETE FROM search_tag;
DELETE FROM search_due;
DELETE FROM search_state;
DELETE FROM former_text;
DELETE FROM change_log;
DELETE FROM change_state;
DELETE FROM written_here;
INSERT INTO copy (id, server_url, dialect, account_id, account_name, account_subject, bound_at, new_as_of, edits_as_of, complete, head_open, deletions_held, live, deleted, waiting, unknown, parked, reachable_seconds, stopped_cleanly, server_ahead, mark, sends) VALUES
    (1, 'http://127.0.0.1:42997', 'C', '0b1ac6f1-6a4e-4d0c-9a55-3f0f4b2f7a01', 'owner@prsnl.example', '0b1ac6f1-6a4e-4d0c-9a55-3f0f4b2f7a01', '2026-11-27T17:32:41.870541Z', '2026-11-27T17:32:42.111824Z', '2026-11-27T17:32:42.111840Z', 1, 0, 0, 13, 0, 11, 1, 1, 0.0, 0, -113026, '01a21e11-0601-752c-8490-3c2fc30a8767', 7);
INSERT INTO item (rowid, id, created_at, updated_at, type, title, url, summary, tags, platform, category, thumbnail_url, duration, file_path, status, permalink) VALUES
    (1, '5078c061-cb08-44ae-af65-e5ee16c06217', '2025-01-01T00:03:40.000000Z', '2026-11-27T17:32:41.981422Z', 'video', 'Theirs', 'https://docs.example.org/medium/copy-network-reads-server-keeps-guests?id=11&ref=feed', 'Which reads engine while engine reads engine its small write notes small notes its storage machine a network machine kernels and machine of small while a which time machine storage server again expected find cursor engine to small “quoted” text.', '["garden","work"]', 'medium', NULL, '/media/thumbnails/5078c061-cb08-44ae-af65-e5ee16c06217.jpg', 4610.0, NULL, 'completed', '/videos/5078c061-cb08-44ae-af65-e5ee16c06217'),
    (2, '4213e49d-4377-47c2-8f16-00f6bb0d1264', '2025-01-01T00:03:20.222028Z', '2025-01-01T00:03:20.222028Z', 'article', 'Through its reads copy its time', 'https://example.org/medium/through-its-reads-copy-its-time?id=10&ref=feed', 'Evenings again network guests engine small notes the walks slowly keeps page reads write through storage to and answers gardens time a its keeps reads machine evenings walks expected reads about page its server again guests find which a page storage through small people.', '["reading list"]', 'medium', 'music', '/media/thumbnails/4213e49d-4377-47c2-8f16-00f6bb0d1264.jpg', NULL, NULL, 'completed', '/articles/4213e49d-4377-47c2-8f16-00f6bb0d1264'),
    (3, '3d8ec9aa-1791-49ce-8282-cd03315e51ef', '2025-01-01T00:03:00.377936Z', '2025-01-01T00:03:00.377936Z', 'tutorial', 'Its walks walks network through notes music of quiet', 'https://videos.example.net/twitter/its-walks-walks-network-through-notes-music-of-quiet?id=9&ref=feed', 'Machine time write and slowly its the its the which network copy notes expected machine every every of people small engine network cursor machine kernels slowly notes server write quiet expected expected walks while through quiet music walks which which.', '["garden","networking","work"]', 'twitter', NULL, '/media/thumbnails/3d8ec9aa-1791-49ce-8282-cd03315e51ef.jpg', NULL, NULL, 'completed', '/tutorials/3d8ec9aa-1791-49ce-8282-cd03315e51ef'),
    (4, 'ab225856-3814-43aa-8998-076d95d42b36', '2025-01-01T00:02:40.450718Z', '2025-01-01T00:02:40.450718Z', 'image', 'Server find keeps and gardens machine write again expected', 'https://example.org/medium/server-find-keeps-and-gardens-machine-write-again-expected?id=8&ref=feed', 'Through walks every expected music which server write people through its reads copy its time notes write page cursor people cursor slowly of and copy music people server small music guests server storage quiet a quiet to gardens quiet.', '["to-do","work"]', 'medium', 'music', '/media/thumbnails/ab225856-3814-43aa-8998-076d95d42b36.jpg', NULL, '/srv/prsnl/files/ab225856-3814-43aa-8998-076d95d42b36.pdf', 'completed', '/images/ab225856-3814-43aa-8998-076d95d42b36'),
    (5, '5f8d96c8-c79a-4293-a5c0-84947212540d', '2025-01-01T00:02:20.574484Z', '2025-01-01T00:02:20.574484Z', 'tutorial', 'Its network notes about keeps', 'https://videos.example.net/web/its-network-notes-about-keeps?id=7&ref=feed', 'Server server of the slowly which every engine reads find quiet write write quiet which machine a about which through a engine about kernels every find find through which about every about quiet server find people “quoted” text.', '["reading list","swift","to-do","work"]', 'web', 'music', NULL, NULL, NULL, 'completed', '/tutorials/5f8d96c8-c79a-4293-a5c0-84947212540d'),
    (6, '7729440c-c3f0-4c21-a1ad-ca7a28f0abfb', '2025-01-01T00:02:00.057247Z', '2025-01-01T00:02:00.057247Z', 'article', 'Its guests time reads engine storage notes "revisited"', 'https://videos.example.net/web/its-guests-time-reads-engine-storage-notes?id=6&ref=feed', NULL, '["linux","networking","tag-5","work"]', 'web', 'work', '/media/thumbnails/7729440c-c3f0-4c21-a1ad-ca7a28f0abfb.jpg', NULL, NULL, 'completed', '/articles/7729440c-c3f0-4c21-a1ad-ca7a28f0abfb'),
    (7, 'c6403ed1-9b27-48b8-8249-ebb076e4424c', '2025-01-01T00:01:40.236452Z', '2025-01-01T00:01:40.236452Z', 'image', 'Every page cursor walks cursor copy to evenings (2025)', 'https://docs.example.org/github/every-page-cursor-walks-cursor-copy-to-evenings?id=5&ref=feed', 'Write cursor small through every through find slowly its slowly expected reads notes every music through which answers its page answers small copy server write kernels notes reads its the gardens server walks notes walks Größe, naïve, 日本語.', '["linux","reading list","sqlite"]', 'github', 'music', '/media/thumbnails/c6403ed1-9b27-48b8-8249-ebb076e4424c.jpg', NULL, NULL, 'completed', '/images/c6403ed1-9b27-48b8-8249-ebb076e4424c'),
    (8, '165cd395-4f89-434f-a925-2800dfec43e8', '2025-01-01T00:01:20.837416Z', '2025-01-01T00:01:20.837416Z', 'link', 'The every while cursor to', 'https://blog.example.com/twitter/the-every-while-cursor-to?id=4&ref=feed', NULL, '["reading list"]', 'twitter', NULL, '/media/thumbnails/165cd395-4f89-434f-a925-2800dfec43e8.jpg', NULL, NULL, 'bookmark', '/links/165cd395-4f89-434f-a925-2800dfec43e8'),
    (9, 'e5585284-16df-4ecd-9a57-f3e3b1e2e3c0', '2025-01-01T00:01:00.000000Z', '2025-01-01T00:01:00.000000Z', 'article', 'Time reads server find gardens storage which while people', 'https://example.org/web/time-reads-server-find-gardens-storage-which-while-people?id=3&ref=feed', 'Kernels gardens small answers storage quiet people find reads find answers network quiet to every server network expected network notes to guests expected evenings small a slowly every cursor copy and again quiet quiet music server reads reads and answers and “quoted” text.', '["linux","reading list","tag-8"]', 'web', NULL, NULL, NULL, NULL, 'completed', '/articles/e5585284-16df-4ecd-9a57-f3e3b1e2e3c0'),
    (10, '9384093c-3b78-40ee-8879-5191f493acaa', '2025-01-01T00:00:40.655333Z', '2025-01-01T00:00:40.655333Z', 'tutorial', 'Of page time copy reads guests time network (2025)', 'https://example.org/web/of-page-time-copy-reads-guests-time-network?id=2&ref=feed', 'Copy gardens time keeps slowly gardens guests time small walks slowly storage of machine of guests slowly walks of kernels page every evenings about server again notes cursor to slowly every keeps network server expected every network small \o/', '["linux"]', NULL, 'design', NULL, NULL, NULL, 'completed', '/tutorials/9384093c-3b78-40ee-8879-5191f493acaa'),
    (11, '80042821-08fe-4a1c-81d3-8722f24570e3', '2025-01-01T00:00:20.470709Z', '2025-01-01T00:00:20.470709Z', 'article', 'Machine through expected every about to evenings machine "revisited"', 'https://example.org/web/machine-through-expected-every-about-to-evenings-machine?id=1&ref=feed', 'Gardens about server walks keeps write about kernels answers while walks storage answers expected write expected small find which walks copy notes to expected slowly server gardens notes answers page evenings quiet server through page people cursor walks guests'||char(10)||'Second line.', '["networking","work"]', NULL, 'music', '/media/thumbnails/80042821-08fe-4a1c-81d3-8722f24570e3.jpg', NULL, NULL, 'bookmark', '/articles/80042821-08fe-4a1c-81d3-8722f24570e3'),
    (12, '846d18b5-c9fa-49fe-8efb-ae53d99afab2', '2025-01-01T00:00:00.047317Z', '2025-01-01T00:00:00.047317Z', 'link', 'Every expected answers find small quiet time which (2025)', 'https://example.org/web/every-expected-answers-find-small-quiet-time-which?id=0&ref=feed', 'Evenings while again evenings guests answers walks while slowly evenings quiet copy guests quiet storage answers its slowly and network evenings server to every expected about to server page page people kernels walks and which guests quiet page time write notes a “quoted” text.', '[]', NULL, 'design', NULL, NULL, NULL, 'completed', '/links/846d18b5-c9fa-49fe-8efb-ae53d99afab2'),
    (13, '24581b51-c7e0-44bf-a49b-bb70f3142067', '2026-11-27T17:32:42.107620Z', '2026-11-27T17:32:42.107620Z', 'link', 'Asked for', 'https://example.org/unverified', NULL, '["asked"]', NULL, NULL, NULL, NULL, NULL, 'pending', '/items/24581b51-c7e0-44bf-a49b-bb70f3142067');
INSERT INTO coverage (from_time, to_time, read_at) VALUES
    ('0000-01-01T00:00:00.000000Z', '2026-11-27T17:32:42.107620Z', '2026-11-27T17:32:42.111840Z');
INSERT INTO outbox (id, kind, state, item_id, local_id, payload, url, title, base, theirs, accepted_at, ended_at, next_attempt_at, attempts, failures, failed_looks, last_attempt_at, reachable_at, superseded_by, follows, remark, error_code, error_message, idempotency_key, request_key, fingerprint, maybe_applied, awaits_item, is_unverified, evidence, undecided_since, undecided_here, superseded_from, superseded_due_at) VALUES
    (1, 'edit', 'parked', '5078c061-cb08-44ae-af65-e5ee16c06217', NULL, '{"title":"Mine"}', NULL, 'Mine', '{"title":"Copy network reads server keeps guests \"revisited\""}', '{"title":"Theirs"}', '2026-11-27T17:32:41.971511Z', NULL, NULL, 0, 0, 0, NULL, 0.0, NULL, NULL, NULL, 'edit_conflict', 'The item was changed elsewhere: it is not what this copy had when the edit was made.', '94a756ebf1a8fb5a52fbbd5014d1c1c0', '01a21e11-0665-7e1c-9cc2-09f7b3ddab85', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL),
    (2, 'capture', 'delivered', '24581b51-c7e0-44bf-a49b-bb70f3142067', 'local-01a21e11-06f8-7158-a663-fdaf9f70a7bc', '{"url":"https://example.org/unverified","title":"Asked for","tags":["asked"],"type":"link"}', 'https://example.org/unverified', 'Asked for', NULL, NULL, '2026-11-27T17:32:42.104086Z', '2026-11-27T17:32:42.108797Z', NULL, 1, 0, 0, '2026-11-27T17:32:42.105921Z', 0.0, NULL, NULL, NULL, NULL, NULL, '565d06a6a562d14b1b0b9e9b51f759c7', '01a21e11-06ed-74cc-b445-f3addaa1d7c8', 'url:https://example.org/unverified', 0, 0, 1, NULL, NULL, NULL, NULL, NULL),
    (3, 'capture', 'delivered', '4213e49d-4377-47c2-8f16-00f6bb0d1264', 'local-01a21e11-0777-7f28-a9db-849d028d0f93', '{"url":"https://example.org/medium/through-its-reads-copy-its-time?id=10&ref=feed","title":"Title of the follow-up","type":"link"}', 'https://example.org/medium/through-its-reads-copy-its-time?id=10&ref=feed', 'Title of the follow-up', '{"title":"Through its reads copy its time","summary":"Evenings again network guests engine small notes the walks slowly keeps page reads write through storage to and answers gardens time a its keeps reads machine evenings walks expected reads about page its server again guests find which a page storage through small people.","tags":["reading list"]}', NULL, '2026-11-27T17:32:42.231970Z', '2026-11-27T17:32:42.239932Z', NULL, 1, 0, 0, '2026-11-27T17:32:42.234623Z', 0.0, NULL, NULL, 'was already there; title follows as #4', NULL, NULL, '59e6ac75049973a7ee9cbb3ee062ef43', '01a21e11-076d-70b0-8fdd-593deabf6426', 'url:https://example.org/medium/through-its-reads-copy-its-time?id=10&ref=feed', 0, 0, 1, NULL, NULL, NULL, NULL, NULL),
    (4, 'edit', 'queued', '4213e49d-4377-47c2-8f16-00f6bb0d1264', NULL, '{"title":"Title of the follow-up"}', NULL, 'Title of the follow-up', '{"title":"Through its reads copy its time"}', NULL, '2026-11-27T17:32:42.239932Z', NULL, '2026-11-27T17:32:45.039182Z', 2, 2, 0, '2026-11-27T17:32:43.076039Z', 0.0, NULL, 3, NULL, 'service_unavailable', 'Service temporarily unavailable: Service Unavailable.', 'c279fe2a3c89517f32e8772e459cb6b7', NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL),
    (5, 'note', 'unknown', 'local-01a21e11-0ec0-7150-ac30-a45adaec8ba8', 'local-01a21e11-0ec0-7150-ac30-a45adaec8ba8', '{"note":"An unknown note","type":"note"}', NULL, NULL, NULL, NULL, '2026-11-27T17:32:44.096084Z', NULL, '2026-11-27T17:33:14.104672Z', 1, 0, 0, '2026-11-27T17:32:44.100519Z', 0.0, NULL, NULL, 'not found on the server yet; it may still be working on it', 'cut_off', 'Network error: the connection to 127.0.0.1:42997 ended before the answer was complete.', 'a774b4d90f176f6dc661badeba7f2f79', '01a21e11-0ea9-72a0-98dc-3ecc60e647a1', 'note:An unknown note', 1, 0, 0, '{"known_ids":["24581b51-c7e0-44bf-a49b-bb70f3142067","5078c061-cb08-44ae-af65-e5ee16c06217","4213e49d-4377-47c2-8f16-00f6bb0d1264","3d8ec9aa-1791-49ce-8282-cd03315e51ef","ab225856-3814-43aa-8998-076d95d42b36","5f8d96c8-c79a-4293-a5c0-84947212540d","7729440c-c3f0-4c21-a1ad-ca7a28f0abfb","c6403ed1-9b27-48b8-8249-ebb076e4424c","165cd395-4f89-434f-a925-2800dfec43e8","e5585284-16df-4ecd-9a57-f3e3b1e2e3c0","9384093c-3b78-40ee-8879-5191f493acaa","80042821-08fe-4a1c-81d3-8722f24570e3","846d18b5-c9fa-49fe-8efb-ae53d99afab2"]}', '2026-11-27T17:32:44.000301Z', '2026-11-27T17:32:44.104667Z', NULL, NULL),
    (6, 'edit', 'sending', '3d8ec9aa-1791-49ce-8282-cd03315e51ef', NULL, '{"title":"Being sent"}', NULL, 'Being sent', '{"title":"Its walks walks network through notes music of quiet"}', NULL, '2026-11-27T17:32:44.232049Z', NULL, NULL, 1, 0, 0, '2026-11-27T17:32:44.235200Z', 0.0, NULL, NULL, NULL, NULL, NULL, '0184a36d4165daea3e82ba0343b8c27f', '01a21e11-0f33-7b78-b9b9-3ae421235e6e', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL),
    (7, 'note', 'queued', 'local-01a21e11-0f56-7778-aa4d-f7f2241d9a7b', 'local-01a21e11-0f56-7778-aa4d-f7f2241d9a7b', '{"note":"A plain note","type":"note"}', NULL, NULL, NULL, NULL, '2026-11-27T17:32:44.246478Z', NULL, '2026-11-27T17:32:44.246478Z', 0, 0, 0, NULL, 0.0, NULL, NULL, NULL, NULL, NULL, '04360abcdc68ec4efa6e2f82142c977a', '01a21e11-0f55-7874-8dc0-75689313b409', 'note:A plain note', 0, 0, 0, NULL, NULL, NULL, NULL, NULL),
    (8, 'note', 'superseded', 'local-01a21e11-0f62-71fc-bf92-2a419dd70bee', 'local-01a21e11-0f62-71fc-bf92-2a419dd70bee', '{"note":"A draft","type":"note"}', NULL, NULL, NULL, NULL, '2026-11-27T17:32:44.258127Z', '2026-11-27T17:32:44.269889Z', NULL, 0, 0, 0, NULL, 0.0, 9, NULL, NULL, NULL, NULL, 'd5fa30d3ac32ad8a054329bbace3bf1a', '01a21e11-0f61-7478-8fda-cc212f06ded2', 'note:A draft', 0, 0, 0, NULL, NULL, NULL, 'queued', '2026-11-27T17:32:44.258127Z'),
    (9, 'note', 'queued', 'local-01a21e11-0f62-71fc-bf92-2a419dd70bee', 'local-01a21e11-0f62-71fc-bf92-2a419dd70bee', '{"title":"A better title","note":"A draft","tags":["draft"],"type":"note"}', NULL, 'A better title', NULL, NULL, '2026-11-27T17:32:44.269889Z', NULL, '2026-11-27T17:32:44.269889Z', 0, 0, 0, NULL, 0.0, NULL, NULL, NULL, NULL, NULL, '0f6b1769ee49cd5a767a188151cb4e64', '01a21e11-0f6d-7000-864e-36d716ac1801', 'note:A draft', 0, 0, 0, NULL, NULL, NULL, NULL, NULL),
    (10, 'edit', 'queued', 'ab225856-3814-43aa-8998-076d95d42b36', NULL, '{"summary":"A summary that waits"}', NULL, NULL, '{"summary":"Through walks every expected music which server write people through its reads copy its time notes write page cursor people cursor slowly of and copy music people server small music guests server storage quiet a quiet to gardens quiet."}', NULL, '2026-11-27T17:32:44.281075Z', NULL, '2026-11-27T17:32:44.281075Z', 0, 0, 0, NULL, 0.0, NULL, NULL, NULL, NULL, NULL, '92333a720fd04aef35415c6ec9239c51', '01a21e11-0f78-7294-8ace-23537d96532f', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL),
    (11, 'edit', 'superseded', '5f8d96c8-c79a-4293-a5c0-84947212540d', NULL, '{"title":"The first title"}', NULL, 'The first title', '{"title":"Its network notes about keeps"}', NULL, '2026-11-27T17:32:44.293168Z', '2026-11-27T17:32:44.304056Z', NULL, 0, 0, 0, NULL, 0.0, 12, NULL, NULL, NULL, NULL, 'eb30460c67088d9890a0fb26d7073faa', '01a21e11-0f84-7600-8470-048733c0ec3f', NULL, 0, 0, 0, NULL, NULL, NULL, 'queued', '2026-11-27T17:32:44.293168Z'),
    (12, 'edit', 'queued', '5f8d96c8-c79a-4293-a5c0-84947212540d', NULL, '{"title":"The second title"}', NULL, 'The second title', '{"title":"Its network notes about keeps"}', NULL, '2026-11-27T17:32:44.304056Z', NULL, '2026-11-27T17:32:44.304056Z', 0, 0, 0, NULL, 0.0, NULL, NULL, NULL, NULL, NULL, '1f71339c61e2836c4580cab9f9b4ad76', '01a21e11-0f8f-7428-afc2-b43b4ac610f8', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL),
    (13, 'edit', 'superseded', '7729440c-c3f0-4c21-a1ad-ca7a28f0abfb', NULL, '{"title":"Behind a deletion"}', NULL, 'Behind a deletion', '{"title":"Its guests time reads engine storage notes \"revisited\""}', NULL, '2026-11-27T17:32:44.315919Z', '2026-11-27T17:32:44.330050Z', NULL, 0, 0, 0, NULL, 0.0, 14, NULL, NULL, NULL, NULL, '32faf9a4335b0fae49226a49acc20fb2', '01a21e11-0f9b-70ec-9f4f-c503a7922f35', NULL, 0, 0, 0, NULL, NULL, NULL, 'queued', '2026-11-27T17:32:44.315919Z'),
    (14, 'delete', 'queued', '7729440c-c3f0-4c21-a1ad-ca7a28f0abfb', NULL, '{}', NULL, NULL, NULL, NULL, '2026-11-27T17:32:44.330050Z', NULL, '2026-11-27T17:32:44.330050Z', 0, 0, 0, NULL, 0.0, NULL, NULL, NULL, NULL, NULL, '7536f606f4e086b943b897217436db9e', '01a21e11-0fa9-72c4-b9ca-843d136285b4', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL),
    (15, 'edit', 'queued', 'c6403ed1-9b27-48b8-8249-ebb076e4424c', NULL, '{"add_tags":["later"]}', NULL, NULL, '{}', NULL, '2026-11-27T17:32:44.344514Z', NULL, '2026-11-27T17:32:44.344514Z', 0, 0, 0, NULL, 0.0, NULL, NULL, NULL, NULL, NULL, '07088d67c2ddbb0f01a38029968dfa2b', '01a21e11-0fb7-7bdc-9667-86bfb12ab92c', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL),
    (16, 'delete', 'queued', '165cd395-4f89-434f-a925-2800dfec43e8', NULL, '{}', NULL, NULL, NULL, NULL, '2026-11-27T17:32:44.359633Z', NULL, '2026-11-27T17:32:44.359633Z', 0, 0, 0, NULL, 0.0, NULL, NULL, NULL, NULL, NULL, '1d6eb7f2b56af3efa047f55dc44aad02', '01a21e11-0fc6-7c50-8188-f1cc48693895', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL),
    (17, 'edit', 'superseded', 'e5585284-16df-4ecd-9a57-f3e3b1e2e3c0', NULL, '{"title":"Title of three edits"}', NULL, 'Title of three edits', '{"title":"Time reads server find gardens storage which while people"}', NULL, '2026-11-27T17:32:44.370692Z', '2026-11-27T17:32:44.381745Z', NULL, 0, 0, 0, NULL, 0.0, 18, NULL, NULL, NULL, NULL, '622b55a89f1d07a197c6e649cdf531fe', '01a21e11-0fd1-7c6c-930a-db90b21590e4', NULL, 0, 0, 0, NULL, NULL, NULL, 'queued', '2026-11-27T17:32:44.370692Z'),
    (18, 'edit', 'superseded', 'e5585284-16df-4ecd-9a57-f3e3b1e2e3c0', NULL, '{"title":"Title of three edits","summary":"Summary of three edits"}', NULL, 'Title of three edits', '{"title":"Time reads server find gardens storage which while people","summary":"Kernels gardens small answers storage quiet people find reads find answers network quiet to every server network expected network notes to guests expected evenings small a slowly every cursor copy and again quiet quiet music server reads reads and answers and “quoted” text."}', NULL, '2026-11-27T17:32:44.381745Z', '2026-11-27T17:32:44.393901Z', NULL, 0, 0, 0, NULL, 0.0, 19, NULL, NULL, NULL, NULL, '710233b78868195a47fb8f951e9cded0', '01a21e11-0fdc-7e18-8b3a-b1c084d44a4a', NULL, 0, 0, 0, NULL, NULL, NULL, 'queued', '2026-11-27T17:32:44.381745Z'),
    (19, 'edit', 'queued', 'e5585284-16df-4ecd-9a57-f3e3b1e2e3c0', NULL, '{"title":"Title of three edits","summary":"Summary of three edits","add_tags":["three"]}', NULL, 'Title of three edits', '{"title":"Time reads server find gardens storage which while people","summary":"Kernels gardens small answers storage quiet people find reads find answers network quiet to every server network expected network notes to guests expected evenings small a slowly every cursor copy and again quiet quiet music server reads reads and answers and “quoted” text."}', NULL, '2026-11-27T17:32:44.393901Z', NULL, '2026-11-27T17:32:44.393901Z', 0, 0, 0, NULL, 0.0, NULL, NULL, NULL, NULL, NULL, '715f8496967a91b8a4b42f848aa8785b', '01a21e11-0fe9-71c0-bd19-3a9d09e934d0', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO outbox_attempt (entry_id, number, purpose, started_at, ended_at, verdict, error_code, status, request_id, items_before) VALUES
    (1, 1, 'look', '2026-11-27T17:32:42.003434Z', '2026-11-27T17:32:42.005555Z', 'park', 'edit_conflict', NULL, NULL, NULL),
    (2, 1, 'send', '2026-11-27T17:32:42.105921Z', '2026-11-27T17:32:42.107936Z', 'delivered', NULL, NULL, 'b4108cb7-7665-4318-904c-f8eb99f95159', 12),
    (3, 1, 'send', '2026-11-27T17:32:42.234623Z', '2026-11-27T17:32:42.237671Z', 'delivered', 'invalid_input', 400, '2566d503-c5d4-4e20-8482-7bcc0dfe4512', 13),
    (4, 1, 'send', '2026-11-27T17:32:42.242702Z', '2026-11-27T17:32:42.243720Z', 'look', 'service_unavailable', 503, '8f55f4eb-c057-458b-b557-1c6deb4be699', 13),
    (4, 2, 'look', '2026-11-27T17:32:43.071952Z', '2026-11-27T17:32:43.073462Z', 'retry', 'service_unavailable', NULL, NULL, NULL),
    (4, 3, 'send', '2026-11-27T17:32:43.076039Z', '2026-11-27T17:32:43.076980Z', 'look', 'service_unavailable', 503, 'e0f223b6-4e00-4d82-ab4c-f9c4d7bf2675', 13),
    (4, 4, 'look', '2026-11-27T17:32:44.037978Z', '2026-11-27T17:32:44.039246Z', 'retry', 'service_unavailable', NULL, NULL, NULL),
    (5, 1, 'send', '2026-11-27T17:32:44.100519Z', '2026-11-27T17:32:44.101946Z', 'look', 'cut_off', NULL, '9845d88f-f545-4406-a516-f4e55c08f514', 13),
    (5, 2, 'look', '2026-11-27T17:32:44.102799Z', '2026-11-27T17:32:44.104703Z', 'look', 'cut_off', NULL, NULL, NULL),
    (6, 1, 'send', '2026-11-27T17:32:44.235200Z', NULL, NULL, NULL, NULL, NULL, 13);
INSERT INTO local_item (entry_id, id, created_at, type, title, content, tags) VALUES
    (5, 'local-01a21e11-0ec0-7150-ac30-a45adaec8ba8', '2026-11-27T17:32:44.096084Z', 'note', 'An unknown note', 'An unknown note', '[]'),
    (7, 'local-01a21e11-0f56-7778-aa4d-f7f2241d9a7b', '2026-11-27T17:32:44.246478Z', 'note', 'A plain note', 'A plain note', '[]'),
    (9, 'local-01a21e11-0f62-71fc-bf92-2a419dd70bee', '2026-11-27T17:32:44.258127Z', 'note', 'A better title', 'A draft', '["draft"]');
INSERT INTO local_edit (item_id, title, summary, tags, is_deleted) VALUES
    ('165cd395-4f89-434f-a925-2800dfec43e8', NULL, NULL, NULL, 1),
    ('3d8ec9aa-1791-49ce-8282-cd03315e51ef', 'Being sent', NULL, NULL, 0),
    ('4213e49d-4377-47c2-8f16-00f6bb0d1264', 'Title of the follow-up', NULL, NULL, 0),
    ('5f8d96c8-c79a-4293-a5c0-84947212540d', 'The second title', NULL, NULL, 0),
    ('7729440c-c3f0-4c21-a1ad-ca7a28f0abfb', NULL, NULL, NULL, 1),
    ('ab225856-3814-43aa-8998-076d95d42b36', NULL, 'A summary that waits', NULL, 0),
    ('c6403ed1-9b27-48b8-8249-ebb076e4424c', NULL, NULL, '["later","linux","reading list","sqlite"]', 0),
    ('e5585284-16df-4ecd-9a57-f3e3b1e2e3c0', 'Title of three edits', 'Summary of three edits', '["linux","reading list","tag-8","three"]', 0);
INSERT INTO change_log (seq, at, item_id, kind, origin, old, new) VALUES
    (1, '2026-11-27T17:32:41.873153Z', NULL, 'pulled', 'server', NULL, '{"items":12}'),
    (2, '2026-11-27T17:32:41.973031Z', '5078c061-cb08-44ae-af65-e5ee16c06217', 'edited', 'here', '{"title":"Copy network reads server keeps guests \"revisited\"","pending":null}', '{"title":"Mine","pending":"edit"}'),
    (3, '2026-11-27T17:32:42.007774Z', '5078c061-cb08-44ae-af65-e5ee16c06217', 'edited', 'here', '{"title":"Mine","pending":"edit"}', '{"title":"Copy network reads server keeps guests \"revisited\"","pending":null}'),
    (4, '2026-11-27T17:32:42.009651Z', '5078c061-cb08-44ae-af65-e5ee16c06217', 'edited', 'server', '{"updated_at":"2025-01-01T00:03:40.000000Z","title":"Copy network reads server keeps guests \"revisited\""}', '{"updated_at":"2026-11-27T17:32:41.981422Z","title":"Theirs"}'),
    (5, '2026-11-27T17:32:42.104886Z', 'local-01a21e11-06f8-7158-a663-fdaf9f70a7bc', 'added', 'here', NULL, '{"created_at":"2026-11-27T17:32:42.104086Z","type":"link","title":"Asked for","url":"https://example.org/unverified","tags":"[\"asked\"]","pending":"creation"}'),
    (6, '2026-11-27T17:32:42.109710Z', '24581b51-c7e0-44bf-a49b-bb70f3142067', 'added', 'here', NULL, '{"created_at":"2026-11-27T17:32:42.104086Z","type":"link","title":"Asked for","url":"https://example.org/unverified","tags":"[\"asked\"]","pending":"creation"}'),
    (7, '2026-11-27T17:32:42.109729Z', 'local-01a21e11-06f8-7158-a663-fdaf9f70a7bc', 'deleted', 'here', '{"created_at":"2026-11-27T17:32:42.104086Z","type":"link","title":"Asked for","url":"https://example.org/unverified","tags":"[\"asked\"]","pending":"creation"}', NULL),
    (8, '2026-11-27T17:32:42.114231Z', '24581b51-c7e0-44bf-a49b-bb70f3142067', 'edited', 'server', '{"created_at":"2026-11-27T17:32:42.104086Z","updated_at":null,"status":null,"permalink":null,"pending":"creation"}', '{"created_at":"2026-11-27T17:32:42.107620Z","updated_at":"2026-11-27T17:32:42.107620Z","status":"pending","permalink":"/items/24581b51-c7e0-44bf-a49b-bb70f3142067","pending":null}'),
    (9, '2026-11-27T17:32:42.232484Z', 'local-01a21e11-0777-7f28-a9db-849d028d0f93', 'added', 'here', NULL, '{"created_at":"2026-11-27T17:32:42.231970Z","type":"link","title":"Title of the follow-up","url":"https://example.org/medium/through-its-reads-copy-its-time?id=10&ref=feed","tags":"[]","pending":"creation"}'),
    (10, '2026-11-27T17:32:42.241002Z', '4213e49d-4377-47c2-8f16-00f6bb0d1264', 'edited', 'here', '{"title":"Through its reads copy its time","pending":null}', '{"title":"Title of the follow-up","pending":"edit"}'),
    (11, '2026-11-27T17:32:42.241017Z', 'local-01a21e11-0777-7f28-a9db-849d028d0f93', 'deleted', 'here', '{"created_at":"2026-11-27T17:32:42.231970Z","type":"link","title":"Title of the follow-up","url":"https://example.org/medium/through-its-reads-copy-its-time?id=10&ref=feed","tags":"[]","pending":"creation"}', NULL),
    (12, '2026-11-27T17:32:44.096573Z', 'local-01a21e11-0ec0-7150-ac30-a45adaec8ba8', 'added', 'here', NULL, '{"created_at":"2026-11-27T17:32:44.096084Z","type":"note","title":"An unknown note","tags":"[]","pending":"creation"}'),
    (13, '2026-11-27T17:32:44.232717Z', '3d8ec9aa-1791-49ce-8282-cd03315e51ef', 'edited', 'here', '{"title":"Its walks walks network through notes music of quiet","pending":null}', '{"title":"Being sent","pending":"edit"}'),
    (14, '2026-11-27T17:32:44.246860Z', 'local-01a21e11-0f56-7778-aa4d-f7f2241d9a7b', 'added', 'here', NULL, '{"created_at":"2026-11-27T17:32:44.246478Z","type":"note","title":"A plain note","tags":"[]","pending":"creation"}'),
    (15, '2026-11-27T17:32:44.258469Z', 'local-01a21e11-0f62-71fc-bf92-2a419dd70bee', 'added', 'here', NULL, '{"created_at":"2026-11-27T17:32:44.258127Z","type":"note","title":"A draft","tags":"[]","pending":"creation"}'),
    (16, '2026-11-27T17:32:44.270647Z', 'local-01a21e11-0f62-71fc-bf92-2a419dd70bee', 'edited', 'here', '{"title":"A draft","tags":"[]"}', '{"title":"A better title","tags":"[\"draft\"]"}'),
    (17, '2026-11-27T17:32:44.281639Z', 'ab225856-3814-43aa-8998-076d95d42b36', 'edited', 'here', '{"summary":"Through walks every expected music which server write people through its reads copy its time notes write page cursor people cursor slowly of and copy music people server small music guests server storage quiet a quiet to gardens quiet.","pending":null}', '{"summary":"A summary that waits","pending":"edit"}'),
    (18, '2026-11-27T17:32:44.293786Z', '5f8d96c8-c79a-4293-a5c0-84947212540d', 'edited', 'here', '{"title":"Its network notes about keeps","pending":null}', '{"title":"The first title","pending":"edit"}'),
    (19, '2026-11-27T17:32:44.304612Z', '5f8d96c8-c79a-4293-a5c0-84947212540d', 'edited', 'here', '{"title":"The first title"}', '{"title":"The second title"}'),
    (20, '2026-11-27T17:32:44.316537Z', '7729440c-c3f0-4c21-a1ad-ca7a28f0abfb', 'edited', 'here', '{"title":"Its guests time reads engine storage notes \"revisited\"","pending":null}', '{"title":"Behind a deletion","pending":"edit"}'),
    (21, '2026-11-27T17:32:44.330476Z', '7729440c-c3f0-4c21-a1ad-ca7a28f0abfb', 'deleted', 'here', '{"created_at":"2025-01-01T00:02:00.057247Z","updated_at":"2025-01-01T00:02:00.057247Z","type":"article","title":"Behind a deletion","url":"https://videos.example.net/web/its-guests-time-reads-engine-storage-notes?id=6&ref=feed","tags":"[\"linux\",\"networking\",\"tag-5\",\"work\"]","platform":"web","category":"work","thumbnail_url":"/media/thumbnails/7729440c-c3f0-4c21-a1ad-ca7a28f0abfb.jpg","status":"completed","permalink":"/articles/7729440c-c3f0-4c21-a1ad-ca7a28f0abfb","pending":"edit"}', NULL),
    (22, '2026-11-27T17:32:44.345182Z', 'c6403ed1-9b27-48b8-8249-ebb076e4424c', 'edited', 'here', '{"tags":"[\"linux\",\"reading list\",\"sqlite\"]","pending":null}', '{"tags":"[\"later\",\"linux\",\"reading list\",\"sqlite\"]","pending":"edit"}'),
    (23, '2026-11-27T17:32:44.360059Z', '165cd395-4f89-434f-a925-2800dfec43e8', 'deleted', 'here', '{"created_at":"2025-01-01T00:01:20.837416Z","updated_at":"2025-01-01T00:01:20.837416Z","type":"link","title":"The every while cursor to","url":"https://blog.example.com/twitter/the-every-while-cursor-to?id=4&ref=feed","tags":"[\"reading list\"]","platform":"twitter","thumbnail_url":"/media/thumbnails/165cd395-4f89-434f-a925-2800dfec43e8.jpg","status":"bookmark","permalink":"/links/165cd395-4f89-434f-a925-2800dfec43e8"}', NULL),
    (24, '2026-11-27T17:32:44.371259Z', 'e5585284-16df-4ecd-9a57-f3e3b1e2e3c0', 'edited', 'here', '{"title":"Time reads server find gardens storage which while people","pending":null}', '{"title":"Title of three edits","pending":"edit"}'),
    (25, '2026-11-27T17:32:44.382277Z', 'e5585284-16df-4ecd-9a57-f3e3b1e2e3c0', 'edited', 'here', '{"summary":"Kernels gardens small answers storage quiet people find reads find answers network quiet to every server network expected network notes to guests expected evenings small a slowly every cursor copy and again quiet quiet music server reads reads and answers and “quoted” text."}', '{"summary":"Summary of three edits"}'),
    (26, '2026-11-27T17:32:44.394670Z', 'e5585284-16df-4ecd-9a57-f3e3b1e2e3c0', 'edited', 'here', '{"tags":"[\"linux\",\"reading list\",\"tag-8\"]"}', '{"tags":"[\"linux\",\"reading list\",\"tag-8\",\"three\"]"}');
INSERT INTO change_state (id, epoch, items_before) VALUES
    (1, 'ff053245dbb4c31e', 12);
INSERT INTO written_here (item_id, title) VALUES
    ('24581b51-c7e0-44bf-a49b-bb70f3142067', 'Asked for'),
    ('4213e49d-4377-47c2-8f16-00f6bb0d1264', 'Title of the follow-up');
DELETE FROM search_document;
INSERT INTO search_document (docid, row, type, created_at, tags, size) VALUES
    (1, 1, 'video', '2025-01-01T00:03:40.000000Z', '["garden","work"]', 355),
    (2, 2, 'article', '2025-01-01T00:03:20.222028Z', '["reading list"]', 391),
    (3, 3, 'tutorial', '2025-01-01T00:03:00.377936Z', '["garden","networking","work"]', 437),
    (4, 4, 'image', '2025-01-01T00:02:40.450718Z', '["to-do","work"]', 408),
    (5, 5, 'tutorial', '2025-01-01T00:02:20.574484Z', '["reading list","swift","to-do","work"]', 374),
    (6, 6, 'article', '2025-01-01T00:02:00.057247Z', '["linux","networking","tag-5","work"]', 178),
    (7, 7, 'image', '2025-01-01T00:01:40.236452Z', '["linux","reading list","sqlite"]', 428),
    (8, 8, 'link', '2025-01-01T00:01:20.837416Z', '["reading list"]', 113),
    (9, 9, 'article', '2025-01-01T00:01:00.000000Z', '["linux","reading list","tag-8"]', 462),
    (10, 10, 'tutorial', '2025-01-01T00:00:40.655333Z', '["linux"]', 384),
    (11, 11, 'article', '2025-01-01T00:00:20.470709Z', '["networking","work"]', 457),
    (12, 12, 'link', '2025-01-01T00:00:00.047317Z', '[]', 429);
DELETE FROM search_piece;
DELETE FROM search_tag;
INSERT INTO search_tag (tag, created_at, docid) VALUES
    ('garden', '2025-01-01T00:03:00.377936Z', 3),
    ('garden', '2025-01-01T00:03:40.000000Z', 1),
    ('linux', '2025-01-01T00:00:40.655333Z', 10),
    ('linux', '2025-01-01T00:01:00.000000Z', 9),
    ('linux', '2025-01-01T00:01:40.236452Z', 7),
    ('linux', '2025-01-01T00:02:00.057247Z', 6),
    ('networking', '2025-01-01T00:00:20.470709Z', 11),
    ('networking', '2025-01-01T00:02:00.057247Z', 6),
    ('networking', '2025-01-01T00:03:00.377936Z', 3),
    ('reading list', '2025-01-01T00:01:00.000000Z', 9),
    ('reading list', '2025-01-01T00:01:20.837416Z', 8),
    ('reading list', '2025-01-01T00:01:40.236452Z', 7),
    ('reading list', '2025-01-01T00:02:20.574484Z', 5),
    ('reading list', '2025-01-01T00:03:20.222028Z', 2),
    ('sqlite', '2025-01-01T00:01:40.236452Z', 7),
    ('swift', '2025-01-01T00:02:20.574484Z', 5),
    ('tag-5', '2025-01-01T00:02:00.057247Z', 6),
    ('tag-8', '2025-01-01T00:01:00.000000Z', 9),
    ('to-do', '2025-01-01T00:02:20.574484Z', 5),
    ('to-do', '2025-01-01T00:02:40.450718Z', 4),
    ('work', '2025-01-01T00:00:20.470709Z', 11),
    ('work', '2025-01-01T00:02:00.057247Z', 6),
    ('work', '2025-01-01T00:02:20.574484Z', 5),
    ('work', '2025-01-01T00:02:40.450718Z', 4),
    ('work', '2025-01-01T00:03:00.377936Z', 3),
    ('work', '2025-01-01T00:03:40.000000Z', 1);
DELETE FROM search_due;
INSERT INTO search_due (row) VALUES
    (-9),
    (-8),
    (-7),
    (-5),
    (-3),
    (-2),
    (1),
    (2),
    (3),
    (4),
    (5),
    (6),
    (7),
    (8),
    (9);
DELETE FROM search_state;
INSERT INTO search_state (id, through, as_of, size, stale_size, attempts, folding) VALUES
    (1, 12, '2026-11-27T17:32:41.973875Z', 4416, 0, 0, '1, Unicode 14.0.0');
