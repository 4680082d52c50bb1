//! Every limit of the server in one place, with the memory it costs.

use rorqual_accesslog::filter::FILTER_BYTES_MAX;
use rorqual_crossfilter::limits::VALUES_COPIED_MAX;
use rorqual_pipe::limits::{BLOCK_BYTES, THREAD_BYTES, buffers_needed};
use rorqual_render::limits::REPEATED_BYTES_MAX;
use rorqual_store::limits::INDEX_BYTES;
use std::time::Duration;

/// Ended sessions that are kept for looking at when they have no rows any longer; the oldest goes
/// first. Each holds its timeline and its last report. Those with rows are beside them as long as
/// these fit.
pub(crate) const ENDED_SESSIONS_MAX: usize = 8;

/// Part of a session's memory that its rows keep for exports when it has ended, and the least; the
/// rest is for other sessions.
pub(crate) const SETTLED_LENT_SHARE: u64 = 8;
/// Enough for an export in the smallest pieces.
pub(crate) const SETTLED_LENT_BYTES: u64 = 32 << 20;

/// Most memory of an ended session without rows: its last report, and the base of any session.
pub(crate) const ENDED_SESSION_BYTES: u64 = REPORT_BYTES_MAX as u64 + SESSION_BYTES;

/// Rows of a segment in the least memory that a server starts with, where a session's rows have
/// room for a dozen of them: 1.5 MiB of memory then suffice for some two million rows in the file.
pub(crate) const SEGMENT_ROWS_FEWEST: usize = 4_096;

/// Part of the server's memory that the recorders of a table take at most, where one alone takes no
/// more.
pub(crate) const TABLE_RECORDERS_SHARE: u64 = 16;

/// Part of the memory of a server that is started with tables in which it reads tables, one after
/// another.
pub(crate) const TABLES_READING_SHARE: u64 = 4;

/// Part of a session's memory in which its table is read, where the server was started with none.
pub(crate) const TABLE_READING_SHARE: u64 = 2;

/// Connections at a time that have shown the token, unless said otherwise; further ones wait. Each
/// costs [`CONNECTION_BYTES`] or [`NARROW_BYTES`].
pub const CONNECTIONS_MAX_DEFAULT: u16 = 32;

/// Connections that read in large pieces: those that come while there are fewer of them. All others
/// are narrow.
pub(crate) const CONNECTIONS_WIDE: usize = 32;

/// Connections at a time that have not shown it yet, which cost the same; the oldest makes room for
/// a new one.
pub(crate) const STRANGERS_MAX: usize = 16;

/// But not before it had this long to show it: many clients that come at once are no attack.
pub(crate) const STRANGER_GRACE: Duration = Duration::from_millis(100);

/// Between two looks for a connection that may leave, while all of them have bytes that are not
/// read yet.
pub(crate) const UNREAD_RETRY_TIME: Duration = Duration::from_millis(10);

/// A connection that was told to leave as it asks for nothing has this long, before another one is
/// told as well.
pub(crate) const DISPLACED_TIME_MAX: Duration = Duration::from_secs(1);

/// Most bytes of a wide connection's read buffer. Large enough that an upload is read at memory
/// speed.
pub(crate) const CONNECTION_BUFFER_BYTES: usize = 256 << 10;

/// The same of a narrow one: enough for a hundred kilobytes a second in few reads, and for a
/// request's head.
pub(crate) const NARROW_BUFFER_BYTES: usize = 16 << 10;

/// Memory of a connection of any width: its task with those of a request and an upload, its
/// socket's place in the runtime, a body of JSON and an answer that need no ticket. Measured of an
/// idle one with its first buffers of 16 KiB: 22 KiB.
pub(crate) const CONNECTION_TASK_BYTES: usize = 32 << 10;

/// Memory of one wide connection: its read buffer twice over (the old one lives until its last
/// slice is copied on) and as much of small answers being written. Large ones have tickets. A
/// WebSocket has a buffer of its own instead, beside the bytes read before it became one.
pub(crate) const CONNECTION_BYTES: u64 = (3 * CONNECTION_BUFFER_BYTES + CONNECTION_TASK_BYTES) as u64;

/// Memory of one narrow connection.
pub(crate) const NARROW_BYTES: u64 = (3 * NARROW_BUFFER_BYTES + CONNECTION_TASK_BYTES) as u64;

/// Answers of more than [`TICKET_FREE_BYTES`] that are held at a time, of all connections, until
/// their clients have taken them: so many tickets there are. Further ones wait for theirs before
/// they are made.
pub(crate) const ANSWERS_MAX: usize = 32;

/// Bodies of JSON of more than [`TICKET_FREE_BYTES`] at a time, from their first byte to the
/// answer; further ones wait in their sockets.
pub(crate) const BODIES_MAX: usize = 8;

/// Memory of a request without a ticket.
pub(crate) const TICKET_FREE_BYTES: usize = 8 << 10;

/// Memory of such a body: in pieces, put together, and as values.
pub(crate) const BODY_BYTES: u64 = 3 * JSON_BYTES_MAX as u64;

/// Bytes of a report as JSON. All viewers of a session share one; a longer one is cut to fewer rows
/// a table. So are all other answers that are made at once.
pub(crate) const REPORT_BYTES_MAX: usize = 512 << 10;

/// Memory of an answer that is being made: the result of a question, or a report with its rows, and
/// a buffer that grows. One at a time, of all sessions.
pub(crate) const ANSWER_MADE_BYTES: u64 = 8 << 20;

/// Latest reports that are kept, of all sessions together; the one that nobody asked for longest
/// goes first, and is made again when it is asked for.
pub(crate) const REPORTS_KEPT_BYTES: usize = 8 << 20;

/// Time for which an old report waits for the permit of queries, rather than be shown again: as
/// long as it is old, within these.
pub(crate) const REPORT_PATIENCE: (Duration, Duration) = (LIVE_INTERVAL, Duration::from_secs(5));

/// Sessions that are listed at most, newest first; and the list has at most [`REPORT_BYTES_MAX`].
pub(crate) const SESSIONS_LISTED_MAX: usize = 1000;

/// Pages with a remembered latest question, so that a newer one ends it.
pub(crate) const PAGES_ASKING_MAX: usize = 64;

/// Bytes of such a page's name.
pub(crate) const PAGE_NAME_BYTES_MAX: usize = 64;

/// Rows that are looked for by their names at a time.
pub(crate) const FIND_PLACES_MAX: usize = 200;

/// Rows of each table of a view, unless asked otherwise.
pub(crate) const VIEW_ROWS: usize = 10;

/// Bytes of a refused body that are still read, and dropped, so that its sender comes to read the
/// refusal.
pub(crate) const LINGER_BYTES_MAX: u64 = 256 << 20;

/// Time for which they are read.
pub(crate) const LINGER_TIME_MAX: Duration = Duration::from_secs(10);

/// The process before any session: code, runtime, page, allocator. Measured: 9 MiB.
pub(crate) const PROGRAM_BYTES: u64 = 20 << 20;

/// Blocks of an upload beside those of its run: the one being filled and those that wait for the
/// run.
pub(crate) const FEED_BUFFERS: usize = 1 + FEED_QUEUE;

/// Filled blocks that wait for the run.
pub(crate) const FEED_QUEUE: usize = 2;

/// A block that is not full is handed on after this long, so that a slow upload is seen as it
/// comes.
pub(crate) const FEED_PATIENCE: Duration = Duration::from_millis(150);

/// The first block waits this long for lines: the format of all is told by those in it.
pub(crate) const FIRST_PATIENCE: Duration = Duration::from_secs(1);

/// Bytes that a session may take in a turn while others wait for theirs.
pub(crate) const TURN_BYTES: u64 = 4 << 20;

/// Most bytes of a slice, so that its state is kept now and then.
pub(crate) const LAP_BYTES_MAX: u64 = 256 << 20;

/// Bytes of an unfinished line that any session may hold between its turns.
pub(crate) const HELD_BYTES_FREE: usize = 4 << 10;

/// Sessions that may hold more: of a line as much as one may have, and of the beginning of a log a
/// block.
pub(crate) const HELD_PLACES: usize = 32;

/// The beginning of a log that tells no format holds such a place for so long at most.
pub(crate) const HEAD_HELD_MAX: Duration = Duration::from_secs(10);

/// Logs that are decoded at a time, the sample among them: each has workers and blocks of its own
/// to its end. A single session has those that are there for turns.
pub(crate) const OWN_PLACES: usize = 2;

/// Number of sessions above which one log is decoded at a time, so that more is left for rows.
pub(crate) const MANY_SESSIONS: usize = 64;

/// Memory by which shares that grow with it are measured at least: a refusal seldom names less.
pub(crate) const MEASURED_BYTES_MIN: u64 = 256 << 20;

/// Memory of a session beside its rows: samples of lines, names, the start of a line.
pub(crate) const SESSION_BYTES: u64 = 48 << 10;

/// An upload that sends nothing for this long is taken for interrupted.
pub(crate) const UPLOAD_IDLE_MAX: Duration = Duration::from_secs(60);

/// Bytes that a client of a WebSocket should have on their way, unacknowledged, at most: enough for
/// two frames of 4 MiB. It costs the server nothing: unread bytes wait at the client.
pub(crate) const SOCKET_WINDOW_BYTES: u64 = 8 << 20;

/// Within a long message, an acknowledgement comes after so many bytes.
pub(crate) const SOCKET_ACK_BYTES: u64 = 1 << 20;

/// Bytes of a text that a client of a WebSocket sends. Held with its connection.
pub(crate) const SOCKET_TEXT_BYTES_MAX: usize = 1 << 10;

/// A WebSocket that is silent for so long is pinged, so that nothing on the way takes it for dead.
pub(crate) const SOCKET_PING_EVERY: Duration = Duration::from_secs(20);

/// Tests of a connection at a time: each may take a core for as long as its client likes. None
/// holds more than its connection.
pub(crate) const DISCARDS_MAX: usize = 2;

/// Bytes of a part that is held until its checksum is right. The session's rows lend as much as the
/// part has.
pub(crate) const CHECKED_BYTES_MAX: u64 = 16 << 20;

/// Memory for one such part at a time, of all sessions, where the rows have none to lend.
pub(crate) const CHECKED_SPARE_BYTES: u64 = 4 * BLOCK_BYTES as u64;

/// In which time such a part has to come, as others wait for its memory.
pub(crate) const CHECKED_SPARE_TIME_MAX: Duration = Duration::from_secs(30);

/// Bytes of a tus client's metadata of its upload, which is told again as it was.
pub(crate) const TUS_METADATA_BYTES_MAX: usize = 4 << 10;

/// Bytes of an upload by tus: the largest exact number of JavaScript.
pub(crate) const TUS_SIZE_MAX: u64 = (1 << 53) - 1;

/// An interrupted upload keeps its place for this long, so that its sender may come back; then it
/// gives way to a new session.
pub(crate) const INTERRUPTED_GRACE: Duration = Duration::from_secs(3);

/// A session that waits for bytes, and was not interrupted, keeps its place for this long.
pub(crate) const WAITING_GRACE: Duration = UPLOAD_IDLE_MAX;

/// A request's head has to arrive within this time.
pub(crate) const HEAD_TIME_MAX: Duration = Duration::from_secs(10);

/// Size of the blocks in which a rendering leaves: they stay in a core's cache until they are sent.
pub(crate) const RENDER_BLOCK_BYTES: usize = 64 << 10;

/// Blocks of a rendering: the one being filled, one that waits, and those on their way to the
/// socket.
pub(crate) const RENDER_BLOCKS: usize = 4;

/// Pause between two looks at the resident size while something is rendered.
pub(crate) const GUARD_EVERY: Duration = Duration::from_millis(10);

/// So close to its memory, as a share of it, the server stops all renderings.
pub(crate) const GUARD_MARGIN_SHARE: u64 = 16;

/// Time for which a rendering that was stopped for its memory may go on while the memory is still
/// short.
pub(crate) const STOP_PATIENCE: Duration = Duration::from_millis(200);

/// Memory of a rendering beside its connection: its blocks, pieces of a text that repeats on their
/// way, and its thread's touched stack and values.
pub(crate) const RENDER_BYTES: u64 = (RENDER_BLOCKS * RENDER_BLOCK_BYTES + 3 * REPEATED_BYTES_MAX) as u64 + (256 << 10);

/// Values after the `?` of an address that is rendered.
pub(crate) const QUERY_VALUES_MAX: usize = 256;

/// Bytes of a JSON body: the longest filter, each of its characters escaped, and another one of a
/// usual length.
pub(crate) const JSON_BYTES_MAX: usize = 2 * FILTER_BYTES_MAX + (32 << 10);

/// Least time between two live reports of a session; making one must also not take more than a
/// tenth of it.
pub(crate) const LIVE_INTERVAL: Duration = Duration::from_millis(200);

/// Rows of each table in a report, at most.
pub(crate) const TOP_ROWS: usize = 100;

/// Buckets of a zoomed histogram, by default and at most.
pub(crate) const BUCKETS: (usize, usize) = (400, 2000);

/// Bytes of a session's name.
pub(crate) const NAME_BYTES_MAX: usize = 1024;

/// Bytes of a saved view's name.
pub(crate) const SAVED_VIEW_NAME_BYTES_MAX: usize = 200;

/// Bytes of a saved view's address.
pub(crate) const SAVED_VIEW_ADDRESS_BYTES_MAX: usize = 8 << 10;

/// Bytes of all saved views together: some hundreds of usual ones, or 15 of the longest.
pub(crate) const SAVED_VIEWS_BYTES_MAX: usize = 128 << 10;

/// Bytes of their file, where each of these is escaped.
pub(crate) const SAVED_VIEWS_FILE_BYTES_MAX: u64 = 8 * SAVED_VIEWS_BYTES_MAX as u64;

/// Files that one upload may be, and that folders which are named may have together.
pub const LOG_FILES_MAX: usize = 300;

/// Files of an upload that are one log, at most, and of all sessions together, which share them
/// evenly; in any session two. Ended sessions hold as many each.
pub(crate) const SESSION_FILES_MAX: (usize, usize) = (LOG_FILES_MAX, 600);

/// Bytes of the name of one of several files that are uploaded, on average.
pub(crate) const FILE_NAME_BYTES_MEAN: usize = 128;

/// Memory for one of several files that are uploaded: its name twice, its place in the report, and
/// the error that ended it.
pub(crate) const FILE_BYTES: u64 = 768;

/// Bytes of the error of one of several files that is kept.
pub(crate) const FILE_ERROR_BYTES_MAX: usize = 256;

/// Files that a report lists by themselves, of a log that is more; the others are one line of it.
pub(crate) const REPORTED_FILES_MAX: usize = 100;

/// Files that the error of a log names, of those that could not be read to the end.
pub(crate) const FAILED_FILES_NAMED: usize = 3;

/// Bytes of a fingerprint, by which a page knows the file again that a session was announced of.
/// Held with the session.
pub(crate) const FINGERPRINT_BYTES_MAX: usize = 128;

/// Exports at a time: rows, values of a panel, pages of a view. Each has a thread.
pub const EXPORTS_MAX: usize = 4;

/// Memory of an export beside its connection: its blocks, and its thread's touched stack. All else
/// comes from the session that has the rows.
pub(crate) const EXPORT_BYTES: u64 = (RENDER_BLOCKS * RENDER_BLOCK_BYTES) as u64 + (256 << 10);

/// Bytes of rows, as arrays, that an export writes at once.
pub(crate) const EXPORT_BATCH_BYTES: usize = 1 << 20;

/// Memory of each byte of such rows on their way: the arrays, the same as text, and an output
/// buffer. Where there is less, a quarter of the rows is written at once.
pub(crate) const EXPORT_ROWS_FOLD: u64 = 4;

/// Memory of an export of values beside their list: texts that are copied at once, and a line.
pub(crate) const EXPORT_VALUES_BYTES: u64 = (VALUES_COPIED_MAX as u64 + 8) * (64 << 10);

/// Part of a session's memory that any export finds room in: the rows go to the file, counted views
/// are forgotten, and distinct values take three quarters at most. The rest is for the places of
/// rows in the file.
pub(crate) const EXPORT_SHARE: u64 = 5;

/// A row group of an exported Parquet file may take this share of the rows' memory, and its footer
/// twice as much; less where there is less.
pub(crate) const EXPORT_GROUP_SHARE: u64 = 32;

/// Least and most bytes of such a row group.
pub(crate) const EXPORT_GROUP_BYTES: (u64, u64) = (1 << 20, 32 << 20);

/// Rows of each table on a page of a view.
pub(crate) const PAGE_TOP: usize = 25;

/// Values of all columns of texts on the page of a table, about.
pub(crate) const PAGE_TABLE_VALUES: usize = 1_000;

/// Fewest values of a column of texts on the page of a table.
pub(crate) const PAGE_TABLE_TOP_MIN: usize = 3;

/// Memory of one value, or of a column of numbers, on the page of a table.
pub(crate) const PAGE_VALUE_BYTES: u64 = 2 << 10;

/// Memory of such a page while it is made.
pub(crate) const VIEW_PAGE_BYTES: u64 = 12 << 20;

/// Peers of a fleet at most.
pub(crate) const PEERS_MAX: usize = 64;

/// Bytes of the file with the tokens of peers.
pub(crate) const PEERS_TOKENS_BYTES_MAX: u64 = 64 << 10;

/// Bytes of an answer of a peer: one that a peer gives, or a list of sessions.
pub(crate) const PEER_ANSWER_BYTES_MAX: usize = REPORT_BYTES_MAX + (4 << 10);

/// Memory for each peer of a fleet: parts of answers on their way, of as many fields as are asked
/// at once, put together and as values; its state, and its share of the sum of all.
pub(crate) const PEER_BYTES: u64 = (PEER_FIELDS_AT_ONCE as u64 + 1) * 4 * PEER_ANSWER_BYTES_MAX as u64;

/// Memory of a filter of a question to peers, which this server reads and writes, and never runs.
pub(crate) const PEER_FILTER_BYTES_MAX: u64 = 4 << 20;

/// Memory of the filters of such a question: both of a comparison.
pub(crate) const PEER_FILTERS_BYTES: u64 = 2 * PEER_FILTER_BYTES_MAX;

/// Fields whose values are asked for at once.
pub(crate) const PEER_FIELDS_AT_ONCE: usize = 3;

/// Values that a peer lists at least, so that columns of few values take one round.
pub(crate) const PEER_TOP_MIN: usize = 256;

/// Values of a field of all peers that are listed, with those before them.
pub(crate) const PEER_VALUES_MAX: usize = 1_000;

/// Buckets of time of sums that are one part.
pub(crate) const PEER_BUCKETS_WHOLE: usize = 500;

/// Columns of a peer's own at most.
pub(crate) const PEER_COLUMNS_MAX: usize = 20_000;

/// Values that a peer names at a time by their hashes, or fewer where these have no room.
pub(crate) const PEER_NAMED_AT_ONCE: usize = 500;

/// Filters whose rows a peer counts at a time: suggestions of other peers for a typed text.
pub(crate) const PEER_FILTERS_AT_ONCE: usize = 40;

/// Bytes of these filters as JSON: a question has room for them beside the longest filter.
pub(crate) const PEER_FILTERS_TEXT_BYTES_MAX: usize = 24 << 10;

/// Bytes of the tests of an explanation as JSON, with both filters and the fields that are left
/// out: a question has room for their places beside them, and for columns that a peer lacks.
pub(crate) const PEER_TESTS_BYTES_MAX: usize = JSON_BYTES_MAX - (24 << 10);

/// Bytes of both filters and of these fields: some tests have room in any case.
pub(crate) const PEER_SELECT_BYTES_MAX: usize = PEER_TESTS_BYTES_MAX - PEER_FILTERS_TEXT_BYTES_MAX;

/// Parts of the numbers of a peer's columns.
pub(crate) const PEER_NUMBER_PARTS_MAX: usize = 1_000;

/// Sessions of a peer that are told of, where it has many.
pub(crate) const PEER_SESSIONS_MAX: usize = 1_000;

/// Time for a connection to a peer.
pub(crate) const PEER_CONNECT_TIME: Duration = Duration::from_secs(1);

/// Time in which a peer that answers tells its state.
pub(crate) const PEER_PROBE_TIME: Duration = Duration::from_millis(1_200);

/// Between two such questions.
pub(crate) const PEER_PROBE_EVERY: Duration = Duration::from_millis(500);

/// Time for a part of an answer, of a peer that tells its state meanwhile.
pub(crate) const PEER_PART_TIME: Duration = Duration::from_secs(60);

/// Time for all parts of an answer: one question is asked at a time, and others wait for it.
pub(crate) const PEER_QUESTION_TIME: Duration = Duration::from_secs(150);

/// Least and most time for which a peer is missing that tells its state and gave no part.
pub(crate) const PEER_LOST_FOR: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// Characters of the name of a download.
pub(crate) const FILE_NAME_CHARS_MAX: usize = 100;

/// Bytes of a format; compiled it takes up to 40 times as much.
pub(crate) const FORMAT_BYTES_MAX: usize = 64 << 10;

/// Lines that a format is tried on.
pub(crate) const TRIED_LINES_MAX: usize = 200;

/// Bodies that are put into the store at a time.
pub(crate) const PUTS_MAX: usize = 4;

/// Blocks of one of them: as many as its run needs, with one thread that hashes.
pub(crate) const PUT_BLOCKS: usize = buffers_needed(1);

/// Memory of a put beside its connection: its blocks, and the stacks of the writing and the hashing
/// thread.
pub(crate) const PUT_BYTES: u64 = (PUT_BLOCKS * BLOCK_BYTES) as u64 + 2 * THREAD_BYTES;

/// Questions to the store that are answered at a time, puts among them: each has a thread, which
/// may wait for another process's turn.
pub const STORE_ASKS_MAX: usize = 8;

/// Memory of the store beside puts and readers.
pub(crate) const STORE_BYTES: u64 = INDEX_BYTES + (STORE_ASKS_MAX - PUTS_MAX) as u64 * THREAD_BYTES;

/// Entries of the store that are read at a time through TLS, which the kernel can't send by itself.
pub(crate) const READS_MAX: usize = 16;

/// Blocks of such a reader: the one being read and the one being encrypted.
pub(crate) const READ_BLOCKS: usize = 2;

/// Memory of such a reader.
pub(crate) const READ_BYTES: u64 = (READ_BLOCKS * BLOCK_BYTES) as u64;

/// Region that stands in for the bytes of a file on their way; never touched.
pub(crate) const STAND_IN_BYTES: usize = 1 << 20;

/// Most bytes of a file that one call sends: bytes outside the page cache are read meanwhile.
pub(crate) const SEND_BYTES_MAX: usize = 1 << 20;

/// Bytes of randomness in a token.
pub(crate) const TOKEN_BYTES: usize = 24;

/// Characters of a token in a file, least and most.
pub(crate) const TOKEN_CHARS: (usize, usize) = (24, 256);

/// Bytes of a file with a certificate chain or a key; read at the start and when it is changed.
pub(crate) const PEM_BYTES_MAX: u64 = 256 << 10;

/// A TLS handshake has to be done within this time. There are as many at once as places for
/// strangers.
pub(crate) const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(10);

/// Bytes that a wide TLS connection holds to be sent.
pub(crate) const TLS_SEND_BYTES_MAX: usize = 64 << 10;

/// The same of a narrow one: a record.
pub(crate) const TLS_SEND_NARROW_BYTES_MAX: usize = 16 << 10;

/// A handshake message or a record that comes in, and the keys.
const TLS_FIXED_BYTES: u64 = 96 << 10;

/// Memory of TLS beside a wide connection: bytes to send as text and as records, and a fixed part.
pub(crate) const TLS_BYTES: u64 = 2 * TLS_SEND_BYTES_MAX as u64 + TLS_FIXED_BYTES;

/// The same beside a narrow one.
pub(crate) const TLS_NARROW_BYTES: u64 = 2 * TLS_SEND_NARROW_BYTES_MAX as u64 + TLS_FIXED_BYTES;

/// From another machine a handshake and a request take three trips: so long a stranger keeps its
/// place when all are wanted.
pub(crate) const STRANGER_GRACE_REMOTE: Duration = Duration::from_secs(1);

/// A client that takes nothing of its answer for this long is dropped.
pub(crate) const STALL_TIME_MAX: Duration = Duration::from_secs(120);

/// A body of JSON has to arrive within this time.
pub(crate) const JSON_TIME_MAX: Duration = Duration::from_secs(30);

/// A connection on which nothing comes is asked whether its peer is still there after this long,
/// and again this often.
pub(crate) const KEEPALIVE_TIMES: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(15));

/// Questions without an answer after which the peer is gone.
pub(crate) const KEEPALIVE_PROBES: u32 = 4;

/// Bytes that an upload may unpack to for each received one, after the first
/// [`UNPACKED_BYTES_FREE`]: gzip has at most 1,032, logs have some ten. It costs time and no
/// memory: an upload above it ends at the next look of the housekeeping.
pub(crate) const UNPACKED_RATIO_MAX: u64 = 2_000;

/// Bytes that any upload may unpack to.
pub(crate) const UNPACKED_BYTES_FREE: u64 = 1 << 30;

/// An upload has to bring so many bytes a second, on average over [`PACE_TIME`], where another
/// session waits for its place. It costs nothing.
pub(crate) const PACE_BYTES_MIN: u64 = 1 << 10;

/// Over this time.
pub(crate) const PACE_TIME: Duration = Duration::from_secs(60);

/// Connections that are not accepted are told at most this often.
pub(crate) const UNACCEPTED_SAID_EVERY: Duration = Duration::from_secs(60);

/// Files that a server has open whatever it does: runtime, listener, standard streams, the index of
/// the store, its puts and exports, and some to spare.
pub(crate) const FILES_BASE: u64 = 64;

/// Files of a connection: its socket, the second handle on it, and an entry of the store or a
/// template's rows.
pub(crate) const FILES_PER_CONNECTION: u64 = 3;

/// Files of a session: its log, and the rows that do not fit the memory.
pub(crate) const FILES_PER_SESSION: u64 = 2;

/// An upload is kept this often, where there is a folder for it (`--state`): at the end of a turn
/// while it goes on, and between turns.
pub(crate) const CHECKPOINT_EVERY: Duration = Duration::from_secs(2);

/// Time until the next try where that fails: a disk that is full stays so.
pub(crate) const CHECKPOINT_RETRY: Duration = Duration::from_secs(10);

/// Time between two syncs of a checkpoint to the disk; later where the disk takes longer for all
/// sessions, of which one waits for it at a time.
pub(crate) const SYNC_EVERY: Duration = Duration::from_secs(30);

/// Sessions for which the disk is waited for at a time, those that finish among them: one of a
/// machine's disks writes several as fast as one. Each takes a thread that may block, and the
/// buffers of a small file's copy.
pub(crate) const SYNCS_MAX: usize = 4;

/// Time within which all that is open is kept when the server ends.
pub(crate) const KEEP_TIME_MAX: Duration = Duration::from_secs(10);

/// Memory of keeping a session beside a slice, one at a time: rows that fill no segment yet, a
/// segment, and texts on their way.
pub(crate) const KEEPING_BYTES: u64 = 12 << 20;

/// Bytes of a session's file there, without its journal: most are rows that fill no segment yet,
/// and some 1 KiB for each that is full.
pub(crate) const STATE_FILE_BYTES_MAX: u64 = 64 << 20;

/// Bytes of randomness in a session's id.
pub(crate) const ID_BYTES: usize = 8;

/// Bytes of a file of the server from which on its rows are kept for the next time: a smaller one
/// is read as quickly as they are found.
pub(crate) const CACHED_FILE_BYTES_MIN: u64 = 1 << 20;

/// Bytes of such a file that are read before what was read is kept, so that a kill loses no more.
pub(crate) const CACHED_PART_BYTES: u64 = 1 << 30;

/// Pause between two looks of the housekeeping.
pub(crate) const HOUSEKEEPING_EVERY: Duration = Duration::from_secs(2);
