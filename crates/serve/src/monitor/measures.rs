//! Counts and times of the server for `/metrics`: all through the `metrics` facade, as in `pipe`.
//!
//! Labels are of fixed sets (a route as it is written in the router, a status, an error's code),
//! never a name, a path or a text that a client sent: who asks must not be able to make a series.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use std::sync::OnceLock;

/// Upper edges of all histograms, in seconds: a view is a matter of milliseconds, a run of minutes.
const EDGES: [f64; 15] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0, 1800.0];

/// Counters, with their help texts.
const COUNTERS: [(&str, &str); 11] = [
    ("rorqual_received_bytes_total", "Bytes of logs that sessions took in, as stored"),
    ("rorqual_lines_total", "Lines of logs by what became of them; rejected ones have a reason in the session"),
    ("rorqual_sessions_made_total", "Sessions that were made"),
    ("rorqual_operations_total", "Operations by what they were for and how they ended"),
    ("rorqual_operation_bytes_total", "Bytes that went through operations"),
    ("rorqual_pool_waits_total", "Waits for a free block"),
    ("rorqual_connections_total", "Connections that were accepted"),
    ("rorqual_connections_broken_total", "Connections that ended before their answer, by why"),
    ("rorqual_http_requests_total", "Requests by route and status"),
    ("rorqual_http_stalled_total", "Connections that were ended as their client took nothing of its answer"),
    ("rorqual_errors_total", "Answers that were an error, by its code"),
];

const GAUGES: [(&str, &str); 19] = [
    ("rorqual_operations_in_flight", "Operations that run"),
    ("rorqual_build_info", "1, with the version"),
    ("rorqual_memory_max_bytes", "Memory that the server may take"),
    ("rorqual_peak_bytes", "Peak resident size"),
    ("rorqual_receive_bytes_per_second", "What all sessions take in now"),
    ("rorqual_sessions", "Sessions by state"),
    ("rorqual_sessions_max", "Sessions that may run at a time"),
    ("rorqual_spilled_bytes", "Bytes in the temporary files of rows"),
    ("rorqual_pool_bytes", "What the blocks of all running sessions may take"),
    ("rorqual_pool_lent_bytes", "What of it is lent now"),
    ("rorqual_connections", "Open connections, by whether they have shown the token"),
    ("rorqual_connections_max", "Places for connections that have shown the token"),
    ("rorqual_connections_wide", "Connections that read in large pieces"),
    ("rorqual_places", "Places for large answers, for long bodies, and for answers as long as the rows are many"),
    ("rorqual_places_taken", "What of these places is taken"),
    ("process_resident_memory_bytes", "Resident size"),
    ("process_open_fds", "Open descriptors"),
    ("process_threads", "Threads"),
    ("process_start_time_seconds", "When the server was started, in Unix seconds"),
];

const HISTOGRAMS: [(&str, &str); 8] = [
    ("rorqual_operation_seconds", "How long operations take"),
    ("rorqual_checkpoint_seconds", "Keeping a session for the next server"),
    ("rorqual_parse_seconds", "Turns of sessions: runs over what came, or over a file"),
    ("rorqual_report_seconds", "Making a live report"),
    ("rorqual_view_seconds", "Answering a question about rows, once it has its turn"),
    ("rorqual_view_wait_seconds", "Waiting for that turn"),
    ("rorqual_pool_wait_seconds", "Waiting for a free block"),
    ("rorqual_http_request_seconds", "From a request's head to its answer's head, by route"),
];

/// Counts of this process so far. The first call begins to count, unless another recorder is there
/// already.
pub(crate) fn recorded() -> PrometheusHandle {
    static RECORDED: OnceLock<PrometheusHandle> = OnceLock::new();
    let begin = || {
        // No edges would be an error, and these are some.
        let builder = PrometheusBuilder::new().set_buckets(&EDGES).unwrap_or_else(|_| PrometheusBuilder::new());
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        let _ = metrics::set_global_recorder(recorder);
        describe();
        handle
    };
    RECORDED.get_or_init(begin).clone()
}

fn describe() {
    for (name, text) in COUNTERS {
        describe_counter!(name, text);
    }
    for (name, text) in GAUGES {
        describe_gauge!(name, text);
    }
    for (name, text) in HISTOGRAMS {
        describe_histogram!(name, Unit::Seconds, text);
    }
    // Zero until they happen, and not absent.
    for name in ["rorqual_pool_waits_total", "rorqual_connections_total", "rorqual_http_stalled_total"] {
        metrics::counter!(name).increment(0);
    }
    for name in [
        "rorqual_parse_seconds",
        "rorqual_report_seconds",
        "rorqual_view_seconds",
        "rorqual_view_wait_seconds",
        "rorqual_pool_wait_seconds",
    ] {
        drop(metrics::histogram!(name));
    }
}
