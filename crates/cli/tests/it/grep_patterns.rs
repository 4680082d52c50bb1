//! `rorqual grep` with thousands of patterns: the memory that they take is known before, and close
//! to what is used.

use crate::common::{MIB, TestFolder, advised, rorqual};
use rorqual_testkit::process::ProcessEnd;

/// Lists of this many patterns.
const PATTERNS: usize = 20_000;

/// Words of letters, none of which is another's beginning.
fn word(number: usize) -> String {
    let mut rest = number * 7_919 % 1_000_003;
    let mut word = String::new();
    for _ in 0..6 {
        word.push(char::from(b'a' + (rest % 16) as u8));
        rest /= 16;
    }
    word + "z"
}

fn list(of: impl Fn(usize) -> String) -> String {
    (0..PATTERNS).map(|number| of(number) + "\n").collect()
}

/// The run with as much memory as a refusal says is enough, and that amount.
fn at_the_advised(args: &[&str]) -> (ProcessEnd, u64) {
    let grep = |memory: &str| rorqual(&["grep", "--threads", "1", "--memory", memory]).args(args).run();
    let memory = advised(&grep("20MiB").exits(2).stderr);
    // What was not known before is known by now.
    let memory = match grep(&memory) {
        ran if ran.code == Some(2) => advised(&ran.stderr),
        _ => memory,
    };
    let mebibytes: u64 = memory.trim_end_matches("MiB").parse().expect("a number");
    (grep(&memory), mebibytes * MIB)
}

#[test]
fn the_memory_that_lists_of_patterns_need_is_named_and_enough() {
    let folder = TestFolder::new();
    // Few lines: they are searched slowly by automata of so many states.
    let text: String = (0..20).map(|number| format!("{}12{} x.org\n", word(number), word(number + 1))).collect();
    let text = folder.file("text", text);
    let lists = [
        ("numbers between words", list(|number| format!("{}[0-9]+{}", word(number), word(number + 1)))),
        ("groups", list(|number| format!(r"\w+{} (\w)\.(com|org)", word(number)))),
        ("classes", list(|number| format!(r"^{}\d+{}.*\s(x|y)", word(number), word(number + 1)))),
        ("letters", list(|number| format!(r"\w\w\w\w\w\w\w\d+{}", word(number)))),
        ("sets", list(|number| format!(r"[\pL\d_]{}", word(number)))),
        ("words", list(word)),
    ];
    for (what, list) in lists {
        let list = folder.file(what, list);
        for flags in [&["-c"][..], &["-ci"], &["-co", "-w"]] {
            let (ran, memory) = at_the_advised(&[flags, &["-f", &list, &text]].concat());
            let ran = if ran.code == Some(1) { ran } else { ran.exits(0) };
            assert!(ran.peak_bytes <= memory, "{what} {flags:?}: {} bytes of {memory}", ran.peak_bytes);
        }
    }
}

#[test]
fn one_pattern_of_very_many_states_needs_what_is_named() {
    let folder = TestFolder::new();
    let text = folder.file("text", format!("{}\n", "é".repeat(700)).repeat(20));
    for flags in [&["-c"][..], &["-cw"], &["-ci"]] {
        for pattern in [r"\w{100}", r"\w{600}", r"(?:\pL|\d|x){300}"] {
            let (ran, memory) = at_the_advised(&[flags, &[pattern, &text]].concat());
            assert!(matches!(ran.code, Some(0 | 1)), "{pattern}: {}", ran.stderr);
            assert!(ran.peak_bytes <= memory, "{pattern} {flags:?}: {} bytes of {memory}", ran.peak_bytes);
        }
    }
}

#[test]
fn thousands_of_groups_take_no_place_in_each_state() {
    let folder = TestFolder::new();
    let text: String = (0..20).map(|number| format!("a{}.org\n", word(number))).collect();
    let text = folder.file("text", text);
    let list = folder.file("list", list(|number| format!(r"\w+{}\.(?P<end>com|org)", word(number))));
    let ran = rorqual(&["grep", "-c", "--memory", "512MiB", "-f", &list, &text]).run().exits(0);
    assert_eq!(ran.text(), "20\n");
    assert!(ran.peak_bytes <= 512 * MIB, "{} bytes", ran.peak_bytes);
    // Where they are wanted there may be fewer.
    let one = rorqual(&["grep", "--replace", "$2-$1", r"(\w+)\.(com|org)"]).stdin("a.org\n").run().exits(0);
    assert_eq!(one.text(), "org-a\n");
}

#[test]
fn the_bad_one_of_many_patterns_is_named() {
    let folder = TestFolder::new();
    let list =
        folder.file("list", list(|number| if number == 12_344 { "a(b".to_owned() } else { format!("{}[0-9]+", word(number)) }));
    let ran = rorqual(&["grep", "-f", &list]).stdin("").run().exits(2);
    ran.says(&[&format!("{list}: line 12345: "), r#"the pattern "a(b" is not a regular expression"#]);
}
