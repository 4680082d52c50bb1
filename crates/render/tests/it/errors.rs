//! Messages for a template that fails: place, reason, and the line.

use crate::common::{context, page, rendered};
use rorqual_pipe::Sink;
use rorqual_render::limits::CHAIN_MAX;
use rorqual_render::{ErrorKind, PageInput, Templates};
use std::io;

fn error(text: &str) -> (String, String) {
    let mut templates = Templates::new(false);
    if let Err(error) = templates.add("page.html", text) {
        return (String::new(), error.to_string());
    }
    let mut out = Vec::new();
    let result = templates.render("page.html", &page(3), &mut out).map(drop);
    let rendered = rendered(out, result);
    (rendered.text, rendered.error.expect("an error"))
}

#[test]
fn a_name_without_a_value_is_quoted_with_its_line() {
    let (text, error) = error("one\n  <b>{{ user.nmae }}</b>\n");
    assert_eq!(text, "one\n  <b>");
    let expected = "page.html:2:9: undefined value: `user.nmae` is undefined\n  2 |   <b>{{ user.nmae }}</b>\n              ^";
    assert_eq!(error, expected);
}

#[test]
fn syntax_errors_have_a_place() {
    let (_, error) = error("one\n{% for x in %}\n");
    assert!(error.starts_with("page.html:2"), "{error}");
    assert!(error.contains("syntax error"), "{error}");
}

#[test]
fn a_long_line_is_cut() {
    let (_, error) = error(&format!("{}{{{{ missing }}}}", "é".repeat(5_000)));
    assert!(error.len() < 500, "{} bytes", error.len());
}

#[test]
fn a_variable_that_doubles_is_stopped() {
    let doubling = "{% set x = 'x' %}{% for i in range(100) %}{% set ns = 1 %}{% endfor %}{% set x = x * 3 %}{{ x }}";
    let mut templates = Templates::new(false);
    templates.add("a.txt", doubling).unwrap();
    let mut out = Vec::new();
    templates.render("a.txt", &PageInput::default(), &mut out).unwrap();
    assert_eq!(out, b"xxx");
    // A loop's variables are new in each iteration; a capture and a namespace can grow.
    let grows = "{% set x = '0123456789' * 1000000 %}{{ x|length }}";
    templates.add("b.txt", grows).unwrap();
    let error = templates.render("b.txt", &PageInput::default(), &mut Vec::new()).unwrap_err();
    assert_eq!(error.template_kind(), Some(ErrorKind::InvalidOperation));
    assert!(error.to_string().contains("8.00 MiB is the most"), "{error}");
    templates.add("c.txt", "{% set x %}{% for i in range(100000000) %}0123456789{% endfor %}{% endset %}").unwrap();
    let error = templates.render("c.txt", &PageInput::default(), &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("8.00 MiB is the most"), "{error}");
}

/// Fails at the nth piece.
struct Failing(u64);

impl Sink for Failing {
    fn copy(&mut self, _: &[u8]) -> io::Result<()> {
        self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(())
    }
}

#[test]
fn a_sink_that_fails_ends_it_and_is_not_the_template_s_fault() {
    let mut templates = Templates::new(false);
    templates.add("fast.html", "{% for i in range(1000000000000) %}{{ i }}<{% endfor %}").unwrap();
    templates
        .add("slow.html", "{% macro m(i) %}{{ i }}{% endmacro %}{% for i in range(1000000000000) %}{{ m(i) }}<{% endfor %}")
        .unwrap();
    for name in ["fast.html", "slow.html"] {
        for pieces in [0, 1, 7, 100] {
            let error = templates
                .render(name, &PageInput { context: context(), ..PageInput::default() }, &mut Failing(pieces))
                .unwrap_err();
            assert!(error.is_stop(), "{error}");
        }
    }
}

#[test]
fn a_stop_ends_a_loop_that_writes_nothing() {
    let mut templates = Templates::new(false);
    let page = PageInput::default();
    page.control.stop();
    for text in [
        "{% for i in range(1000000000000) %}{% endfor %}",
        "{% macro m() %}{% endmacro %}{% for i in range(1000000000000) %}{% endfor %}",
        "{% macro m() %}{% for i in range(1000000000000) %}{% endfor %}{% endmacro %}{{ m() }}",
        "{{ range(1000000000000)|list|length }}",
        "{% set range2 = range %}{{ range2(5, 1000000000000, 3)|last }}",
    ] {
        templates.add("a.html", text).unwrap();
        assert!(templates.render("a.html", &page, &mut Vec::new()).unwrap_err().is_stop(), "{text}");
    }
}

/// A long expression becomes a deep tree; on the smallest stack there is, one is refused before it
/// overflows.
#[test]
fn long_expressions_are_refused_and_those_at_the_limit_fit_the_stack() {
    let chains: [(&str, &str, &str); 10] = [
        ("{{ ", "1+", "1 }}"),
        ("{{ ", "-", "1 }}"),
        ("{{ ", "1 ~ ", "1 }}"),
        ("{{ ", "1 and ", "1 }}"),
        ("{{ ", "not ", "1 }}"),
        ("{{ ", "1 if 1 else ", "1 }}"),
        ("{{ ", "1**", "1 }}"),
        ("{{ x", ".a", " }}"),
        ("{{ 'x'", "|upper", " }}"),
        ("{% if 0 %}", "{% elif 0 %}", "{% endif %}"),
    ];
    let render = |text: &str| {
        let mut templates = Templates::new(true);
        templates.add("chain.txt", text)?;
        templates.render("chain.txt", &PageInput::default(), &mut Vec::new()).map(drop)
    };
    // Along one path, each if within the last branch of another.
    let nested = format!("{}{}", format!("{{% if 0 %}}{}", "{% elif 0 %}".repeat(100)).repeat(20), "{% endif %}".repeat(20));
    assert!(render(&nested).unwrap_err().to_string().contains("500"));
    for (before, link, after) in chains {
        let of = |links: usize| format!("{before}{}{after}", link.repeat(links));
        let error = render(&of(100_000)).unwrap_err().to_string();
        assert!(error.contains("chain.txt:1:") && error.contains("500"), "{link}: {error}");
        // A conditional is two words that join.
        let links = if link.contains("else") { CHAIN_MAX / 2 } else { CHAIN_MAX };
        let text = of(links);
        let rendered = std::thread::scope(|scope| {
            let small = std::thread::Builder::new().stack_size(2 << 20);
            small.spawn_scoped(scope, || render(&text)).unwrap().join()
        });
        assert!(rendered.is_ok(), "{link}");
    }
}
