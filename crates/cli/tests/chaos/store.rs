//! A client of the store over HTTP: it gets the bytes that were put, or is told why not.

use crate::answer::Answer;
use crate::check::Check;
use crate::common::rorqual;
use crate::inputs::Input;
use crate::op::{Body, Call, Op};
use rorqual_testkit::proxy::ConnectionFault;

pub(crate) fn once(op: &mut Op<'_>) {
    let inputs = &op.kit.inputs;
    // The large one would push out all others.
    let input = &inputs[op.random.below(inputs.len() - 1)];
    let end = match op.random.below(8) {
        0 => remove(op, input),
        1 => lie(op, input),
        2 => lease(op, input),
        3 | 4 => get(op, input),
        _ => put(op, input),
    };
    op.kit.tallies.ended("store", end);
}

fn put(op: &mut Op<'_>, input: &Input) -> &'static str {
    let body = if op.one_in(2) { Body::Known(&input.plain) } else { Body::Chunked(&input.plain) };
    let fault = op.fault(input.plain.len() + 250, 3);
    let answer = op.once(&Call::new("PUT", format!("/store/{}", input.digest), body), fault);
    match answer {
        None => return get(op, input),
        // A half of a body has another digest.
        Some(answer) if matches!(fault, ConnectionFault::HalfClose { .. }) && matches!(answer.status, 400 | 422) => {
            return "refused";
        }
        Some(answer) if matches!(answer.status, 200 | 201) => {}
        Some(answer) => return refused(op, &answer),
    }
    get(op, input)
}

/// Any entry is whole, and the one that was asked for.
fn get(op: &mut Op<'_>, input: &Input) -> &'static str {
    let size = input.plain.len();
    let (first, last) = (op.random.below(size), op.random.below(size));
    let range = (op.one_in(2) && first <= last).then_some(first..=last);
    let mut call = Call::new("GET", format!("/store/{}", input.digest), Body::NONE);
    if let Some(range) = &range {
        call = call.header(format!("Range: bytes={}-{}", range.start(), range.end()));
    }
    let fault = op.fault(400, 4);
    let Some(answer) = op.once(&call, fault) else { return "cut" };
    let expected = range.map_or(&input.plain[..], |range| &input.plain[range]);
    match answer.status {
        200 | 206 if answer.body == expected => "done",
        200 | 206 => {
            op.wrong(&format!("{} {}: {} other bytes", call.method, call.target, answer.body.len()));
            "WRONG"
        }
        _ => refused(op, &answer),
    }
}

/// Another digest than the body has.
fn lie(op: &mut Op<'_>, input: &Input) -> &'static str {
    let digest: String = input.digest.chars().rev().collect();
    let body = &input.plain[..input.plain.len().min(1 << 20)];
    match op.once(&Call::new("PUT", format!("/store/{digest}"), Body::Known(body)), ConnectionFault::None) {
        Some(answer) if matches!(answer.status, 200 | 201) => {
            op.wrong("a body was stored under another digest");
            "WRONG"
        }
        Some(answer) => refused(op, &answer),
        None => "cut",
    }
}

fn lease(op: &mut Op<'_>, input: &Input) -> &'static str {
    let call = Call::new("PUT", format!("/store/{}", input.digest), Body::Known(&input.plain));
    let Some(answer) = op.once(&call.header("Lease-Seconds: 5").header("Lease-Holder: chaos"), ConnectionFault::None) else {
        return "cut";
    };
    let Some(lease) = answer.header("lease-id").map(str::to_owned) else { return refused(op, &answer) };
    match op.ask(&Call::new("DELETE", format!("/leases/{lease}"), Body::NONE)) {
        Some(answer) if answer.status == 204 => "done",
        // The clock may have jumped over its end, and a repeated request finds none.
        Some(answer) => refused(op, &answer),
        None => "cut",
    }
}

fn remove(op: &mut Op<'_>, input: &Input) -> &'static str {
    match op.ask(&Call::new("DELETE", format!("/store/{}", input.digest), Body::NONE)) {
        Some(answer) if answer.status == 204 => "done",
        Some(answer) => refused(op, &answer),
        None => "cut",
    }
}

fn refused(op: &Op<'_>, answer: &Answer) -> &'static str {
    match answer.code().as_str() {
        "no_entry" | "no_lease" => "missing",
        "damaged" => {
            op.wrong(&format!("the store is damaged: {}", answer.json()));
            "WRONG"
        }
        _ => "refused",
    }
}

/// Once nobody uses it: every entry is whole, and gc finds nothing that was left by a server that
/// lived to its end.
pub(crate) fn check(folder: &str) -> Check {
    let collected = rorqual(&["store", "--store", folder, "gc"]).run();
    let verified = rorqual(&["store", "--store", folder, "verify"]).run();
    let text = format!("{}{}{}", String::from_utf8_lossy(&verified.stdout), verified.stderr, collected.stderr);
    Check::new("store", verified.code == Some(0) && collected.code == Some(0), text.replace('\n', "; "))
}
