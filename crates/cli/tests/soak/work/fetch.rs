//! Downloads from a server that breaks off now and then.

use super::{Kit, Outcome};
use rorqual_digest::Algorithm;
use rorqual_fetch::{Event, Fetch, Kind, Target, Wanted};
use rorqual_pipe::{Control, Gate};
use rorqual_testkit::generate::Random;
use rorqual_testkit::http::{Content, End, Server};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SIZE_BYTES_MAX: usize = 3 << 20;
const TIME_MAX: Duration = Duration::from_secs(60);
const RETRIES: u32 = 2;

/// How the server is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Honest,
    /// The first answer is cut in its middle.
    CutOnce,
    CutAlways,
}

pub(super) fn once(kit: &Kit, random: &mut Random) -> Outcome {
    let sample = kit.sample(random);
    let content = Content::new(1 + random.below(SIZE_BYTES_MAX) as u64, random.next());
    let (manner, stopping) = match random.below(6) {
        0 => (Manner::CutAlways, false),
        1 => (Manner::Honest, true),
        2 | 3 => (Manner::CutOnce, false),
        _ => (Manner::Honest, false),
    };
    let server = serve(&content, manner);
    let path = kit.folder().join("fetched").join(random.next().to_string());
    let control = Control::default();
    let mut observe = |event: Event| {
        if stopping && matches!(event, Event::Started { .. }) {
            control.stop();
        }
    };
    // The soak's own gate is passed already.
    let result = settings(server.url("/file"), &path).run(&Gate::new(1), &control, &mut observe);
    let outcome = match result {
        Ok(_) if std::fs::read(&path).is_ok_and(|bytes| bytes == content.all()) => Outcome::Done,
        Err(error) if path.exists() => Outcome::wrong(format!("{error}, and the file is there"), sample),
        Err(error) if manner == Manner::CutAlways && error.kind == Kind::Broken => Outcome::Cut,
        Err(error) if stopping && error.kind == Kind::Stopped => Outcome::Cancelled,
        other => Outcome::wrong(format!("{other:?}"), sample),
    };
    clear(&path);
    outcome
}

fn serve(content: &Content, manner: Manner) -> Server {
    let (content, answers) = (content.clone(), AtomicUsize::new(0));
    Server::start(move |request| {
        let reply = content.answer(request);
        let first = answers.fetch_add(1, Ordering::Relaxed) == 0;
        match manner {
            // Nothing but the head: an answer to a range that has some of it would bring the file after all.
            Manner::CutAlways => reply.cut(0, End::Close),
            Manner::CutOnce if first => reply.cut(content.size_bytes / 2, End::Close),
            _ => reply,
        }
    })
}

fn settings(url: String, path: &Path) -> Fetch {
    Fetch {
        url,
        target: Target::File { path: path.to_owned(), replace: false },
        digests: vec![Wanted { algorithm: Algorithm::Sha256, expected: None }],
        headers: Vec::new(),
        parallel: 2,
        piece_bytes: 1 << 20,
        help_after: Duration::ZERO,
        connect_timeout: TIME_MAX,
        idle_timeout: TIME_MAX,
        time_max: Some(TIME_MAX),
        retries: RETRIES,
        retry_delay: Duration::from_millis(1),
        redirects_max: 0,
        allow_downgrade: false,
        ca_certs: Vec::new(),
        keep_encoding: false,
    }
}

/// The file, or what a fetch keeps to go on from.
fn clear(path: &Path) {
    for suffix in ["", ".part", ".part.json"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
}
