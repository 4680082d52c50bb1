//! Answers for looking at.

use super::super::terminal::{BOLD, DIM, bar, footer, header, highest_share, width, write_out};
use super::super::time::{format, show as show_time};
use super::super::words::{shown, size, thousands};
use super::breakdown;
use super::question::{LogsAnswer, Question, show};
use rorqual_accesslog::report::LogReport;
use rorqual_crossfilter::{
    ClientRate, Compared, ComparedPanel, ComparedRow, Explained, Finding, LimitEffect, RateUnit, Rates, UnknownField,
    UnusualSpan, UnusualSpans, ViewResult,
};
use rorqual_pipe::Control;
use std::io::{self, Write};

/// Columns before the companions of a finding: those of its bar.
const INDENT: &str = "             ";

/// Characters of one companion.
const COMPANION_WIDTH: usize = 40;

/// Prints the answer after the head of a report, of whose lines so many had no room.
pub(super) fn print(
    (report, dropped): (&LogReport, u64),
    question: &Question,
    answer: &LogsAnswer,
    top: usize,
    control: &Control,
) -> io::Result<()> {
    let width = width();
    let mut text = Vec::new();
    header(&mut text, report)?;
    if dropped > 0 {
        writeln!(
            text,
            "{} of these lines had no room: times, sizes, clients and the answer are of the others.",
            thousands(dropped)
        )?;
    }
    match answer {
        LogsAnswer::Findings(found) => findings(&mut text, found)?,
        LogsAnswer::Rates(answer) => rates(&mut text, answer, top, width)?,
        answer => print_asked(&mut text, question, answer, (width, false))?,
    }
    footer(&mut text, report)?;
    write_out(&text, control)
}

/// Prints the answer to a question about spans, of a log or of a table.
pub(crate) fn print_asked(
    out: &mut impl Write,
    question: &Question,
    answer: &LogsAnswer,
    (width, is_table): (usize, bool),
) -> io::Result<()> {
    match (question, answer) {
        (Question::Explain(span), LogsAnswer::Explain(explained)) => explain(out, &show(span), explained, width),
        (_, LogsAnswer::Breakdown(answer)) => breakdown::print(out, answer, width),
        (Question::Compare(a, b), LogsAnswer::Compare(compared)) => {
            compare(out, [&show(a), &show(b)], compared, (width, is_table))
        }
        _ => Ok(()),
    }
}

fn findings(out: &mut impl Write, found: &UnusualSpans) -> io::Result<()> {
    let tried = thousands(found.tried as u64);
    if found.tried == 0 {
        return writeln!(out, "\nNothing to tell by: there are too few lines, or too short a time.");
    }
    if found.spans.is_empty() {
        return writeln!(
            out,
            "\nNothing unusual: {tried} windows of time of {} values are as usual.",
            thousands(found.values as u64)
        );
    }
    writeln!(out, "\n{BOLD}Unusual spans{BOLD:#}  {DIM}UTC{DIM:#}")?;
    for span in &found.spans {
        finding(out, span)?;
    }
    let q = found.spans.iter().map(|span| span.q).fold(f64::MIN_POSITIVE, f64::max);
    writeln!(out, "{DIM}{tried} windows of time tried; q ≤ {q:.0e}.{DIM:#}")
}

fn finding(out: &mut impl Write, span: &UnusualSpan) -> io::Result<()> {
    let (from, to) = (show_time(span.from), show_time(span.to));
    // The day is said once.
    let until = match (from.split_once(' '), to.split_once(' ')) {
        (Some((day, _)), Some((other, time))) if day == other => time,
        _ => &to,
    };
    writeln!(out, "{from} to {until}  {BOLD}{}{BOLD:#}", shown(&span.text, usize::MAX))?;
    if !span.filter.is_empty() {
        writeln!(out, "{DIM}{INDENT}{}{DIM:#}", shown(&span.filter, usize::MAX))?;
    }
    Ok(())
}

fn explain(out: &mut impl Write, span: &str, explained: &Explained, width: usize) -> io::Result<()> {
    let Explained { rows_in, rows_out, tried, .. } = explained;
    writeln!(
        out,
        "\n{BOLD}What sets {span} apart{BOLD:#}  {DIM}{} lines, {} in the rest{DIM:#}",
        thousands(*rows_in),
        thousands(*rows_out)
    )?;
    let tried = thousands(*tried as u64);
    if explained.findings.is_empty() {
        if *rows_in == 0 || *rows_out == 0 {
            return Ok(());
        }
        return writeln!(
            out,
            "Nothing stands out: of {tried} values and pairs none has {}.{}",
            explained.least,
            untried(explained)
        );
    }
    writeln!(out, "{DIM}{:<12} {:>8} {:>8} {:>9} {:>11} {:>10}{DIM:#}", "", "in span", "in rest", "times", "lines", "G")?;
    let most = highest_share(explained.findings.iter().map(|finding| finding.share_in));
    for finding in &explained.findings {
        explain_row(out, finding, (width, most))?;
    }
    let q = explained.findings.iter().map(|finding| finding.q).fold(0.0, f64::max);
    let q = q.max(f64::MIN_POSITIVE);
    writeln!(out, "{DIM}{tried} tried; {}; q ≤ {q:.0e}.{}{DIM:#}", explained.statistic, untried(explained))
}

/// Values that were not considered.
fn untried(explained: &Explained) -> String {
    let of = |UnknownField { field, hits_in, hits_out }: &UnknownField| {
        let (inside, outside) = (thousands(*hits_in), thousands(*hits_out));
        format!(
            " Not considered: the {field} of {inside} lines in the span and {outside} in the rest, which few lines have each."
        )
    };
    explained.unknown.iter().map(of).collect()
}

fn explain_row(out: &mut impl Write, finding: &Finding, (width, most): (usize, f64)) -> io::Result<()> {
    let Finding { hits_in, share_in, share_out, ratio, g, filter, companions, .. } = finding;
    let (hits, ratio) = (thousands(*hits_in), times(*ratio));
    let (share_in, share_out, share) = (percent(*share_in), percent(*share_out), bar(*share_in / most));
    // The filter is whole, so that it can be taken to `--where`.
    writeln!(
        out,
        "{share:<12} {share_in:>8} {share_out:>8} {ratio:>9} {hits:>11} {:>10}  {BOLD}{}{BOLD:#}",
        thousands(*g as u64),
        shown(filter, usize::MAX)
    )?;
    if companions.is_empty() {
        return Ok(());
    }
    writeln!(out, "{DIM}{INDENT}{}{DIM:#}", with(companions, width - INDENT.len()))
}

/// Companions, as many as fit the width.
fn with(companions: &[String], width: usize) -> String {
    let mut text = String::from("with ");
    for (index, companion) in companions.iter().enumerate() {
        let companion = shown(companion, COMPANION_WIDTH);
        let more = format!("{} more", companions.len() - index);
        if index > 0 && text.chars().count() + companion.chars().count() + more.len() + 4 > width {
            return text + &more;
        }
        text.push_str(&companion);
        text.push_str(if index + 1 < companions.len() { ", " } else { "" });
    }
    text
}

fn compare(out: &mut impl Write, spans: [&str; 2], compared: &Compared, (width, is_table): (usize, bool)) -> io::Result<()> {
    writeln!(out)?;
    for (name, span, viewed) in [("A", spans[0], &compared.a), ("B", spans[1], &compared.b)] {
        let ViewResult { lines, bytes_sent, clients, .. } = viewed;
        if is_table {
            writeln!(out, "{BOLD}{name}{BOLD:#}  {span}: {} rows", thousands(lines.total))?;
            continue;
        }
        writeln!(
            out,
            "{BOLD}{name}{BOLD:#}  {span}: {} lines, {} sent, {}{} clients",
            thousands(lines.total),
            size(*bytes_sent),
            // Of clients without room each line may have one of its own.
            if clients.exact { "" } else { "at least " },
            thousands(clients.distinct)
        )?;
    }
    writeln!(out, "{DIM}The change that is least likely by chance comes first.{DIM:#}")?;
    if !compared.exact {
        writeln!(out, "\nNot all counts are exact: values with few lines each are counted together.")?;
    }
    for panel in &compared.panels {
        compare_panel(out, panel, compared, width)?;
    }
    Ok(())
}

fn compare_panel(out: &mut impl Write, panel: &ComparedPanel, compared: &Compared, width: usize) -> io::Result<()> {
    writeln!(out, "\n{BOLD}{}{BOLD:#}", panel.title)?;
    writeln!(
        out,
        "{DIM}{:<12} {:<12} {:>7} {:>7} {:>11} {:>10} {:>10}{DIM:#}",
        "A", "B", "A", "B", "change", "lines A", "lines B"
    )?;
    let share = |hits: u64, of: &ViewResult| hits as f64 / of.lines.total.max(1) as f64;
    let shares = |row: &ComparedRow| [share(row.hits_a, &compared.a), share(row.hits_b, &compared.b)];
    let most = highest_share(panel.rows.iter().flat_map(shares));
    for row in &panel.rows {
        let ComparedRow { value, hits_a, hits_b, share_difference, .. } = row;
        let [a, b] = shares(row);
        let (bar_a, bar_b) = (bar(a / most), bar(b / most));
        let change = format!("{:+.1} pts", share_difference * 100.0);
        let (percent_a, percent_b, hits_a, hits_b) = (percent(a), percent(b), thousands(*hits_a), thousands(*hits_b));
        let value = shown(value, width.saturating_sub(77).max(20));
        writeln!(out, "{bar_a:<12} {bar_b:<12} {percent_a:>7} {percent_b:>7} {change:>11} {hits_a:>10} {hits_b:>10}  {value}")?;
    }
    Ok(())
}

fn rates(out: &mut impl Write, rates: &Rates, top: usize, width: usize) -> io::Result<()> {
    let limit = if let [limit] = &rates.limits[..] { Some(limit) } else { None };
    let whose = if rates.field == "net" { "network" } else { "client" };
    writeln!(
        out,
        "\n{BOLD}Most requests by {}{BOLD:#}  {DIM}{} of {}{DIM:#}",
        rates.field,
        counted(rates.rows, "request"),
        counted(rates.clients, whose)
    )?;
    if rates.unknown > 0 {
        writeln!(out, "Not considered: {}, of clients with few requests each.", counted(rates.unknown, "request"))?;
    }
    let blocked = limit.map_or_else(String::new, |_| format!(" {:>10}", "blocked"));
    writeln!(
        out,
        "{DIM}{:>8}  {:<19} {:>9}  {:<16} {:>10}{blocked}{DIM:#}",
        "a second", "when (UTC)", "a minute", "when (UTC)", "requests"
    )?;
    for rate in rates.fastest.iter().take(top) {
        rate_row(out, rate, width)?;
    }
    match limit {
        Some(limit) => writeln!(out, "A limit of {} would have blocked {}.", limited(limit), effect(limit, rates, whose)),
        None => {
            writeln!(out, "\n{BOLD}What a limit would have blocked{BOLD:#}")?;
            rates.limits.iter().try_for_each(|limit| writeln!(out, "{:>14}  {}", limited(limit), effect(limit, rates, whose)))
        }
    }
}

fn rate_row(out: &mut impl Write, rate: &ClientRate, width: usize) -> io::Result<()> {
    let ClientRate { value, hits, second_hits_max, second_at, minute_hits_max, minute_at, blocked } = rate;
    let (second, minute, hits) =
        (thousands(u64::from(*second_hits_max)), thousands(u64::from(*minute_hits_max)), thousands(*hits));
    let (second_at, minute_at) = (show_time(*second_at), format(*minute_at, "%Y-%m-%d %H:%M"));
    let blocked = blocked.map_or_else(String::new, |blocked| format!(" {:>10}", thousands(blocked)));
    let value = shown(value, width.saturating_sub(70 + blocked.len()).max(20));
    writeln!(out, "{second:>8}  {second_at:<19} {minute:>9}  {minute_at:<16} {hits:>10}{blocked}  {value}")
}

/// `60 a minute`
fn limited(limit: &LimitEffect) -> String {
    let per = match limit.per {
        RateUnit::Second => "second",
        RateUnit::Minute => "minute",
    };
    format!("{} a {per}", thousands(limit.requests))
}

fn effect(limit: &LimitEffect, rates: &Rates, whose: &str) -> String {
    let share = percent(limit.blocked as f64 / rates.rows.max(1) as f64);
    format!("{} ({share}) of {}", counted(limit.blocked, "request"), counted(limit.clients, whose))
}

pub(in super::super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `1 client`, `2,000 clients`
fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// A quotient as people say it.
pub(in super::super) fn times(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 1e6 => "× > 10⁶".to_owned(),
        ratio if ratio >= 10.0 => format!("× {}", thousands(ratio.round() as u64)),
        ratio => format!("× {ratio:.1}"),
    }
}
