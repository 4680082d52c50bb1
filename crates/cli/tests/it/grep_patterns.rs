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
    let mut memory = advised(&grep("20MiB").exits(2).stderr);
    let mut ran = grep(&memory);
    // Trees have no room at first, and an automaton may turn out to be larger than was counted.
    for _ in 0..2 {
        if ran.code != Some(2) {
            break;
        }
        memory = advised(&ran.stderr);
        ran = grep(&memory);
    }
    let mebibytes: u64 = memory.trim_end_matches("MiB").parse().expect("a number");
    (ran, mebibytes * MIB)
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
        ("addresses", list(|number| format!(r"http://{}\.com/{}", word(number), word(number + 1)))),
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

/// Memory that is used, 150 MiB at most, has room in the default of 256 MiB.
#[test]
fn many_words_and_counted_classes_fit_the_default_memory() {
    let folder = TestFolder::new();
    let words = |beside: usize| (0..200_000).map(move |number| word(number) + &word(number + 1)[..beside]);
    let list = |beside: usize| words(beside).map(|word| word + "\n").collect::<String>();
    let list = folder.file("words", list(2));
    // A word at the end of a line that is longer than any that is held, and none in the last.
    let long = "Q ".repeat(2 << 20);
    let text = words(2).step_by(1_000).map(|word| format!("Q{word}Q\n")).collect::<String>();
    let text = format!("{text}{long}{}\n{long}\nQ\n", words(2).next_back().expect("a word"));
    for flags in [&["-c", "-F"][..], &["-c"], &["-cF", "--threads", "1"]] {
        let grep = rorqual(&["grep", "--memory", "256MiB"]).args(flags).args(["-f", &list]).stdin(text.as_str());
        let ran = grep.run().exits(0);
        assert_eq!(ran.text(), "201\n", "{flags:?}");
        assert!(ran.peak_bytes <= 256 * MIB, "{flags:?}: {} bytes", ran.peak_bytes);
    }
    let line = format!("{}\n", "é".repeat(700)).repeat(20);
    for pattern in [r"\w{500}", r"(?:\pL|\d|x){300}", r"\w{1,400}é$"] {
        for flags in ["-c", "-ci", "-cw", "-cx"] {
            let ran = rorqual(&["grep", "--memory", "256MiB", flags, pattern]).stdin(line.as_str()).run();
            // Of the whole line of 700 letters, or of a whole word of it, none has so few.
            let lines = if flags == "-c" || flags == "-ci" { "20\n" } else { "0\n" };
            assert_eq!(ran.text(), lines, "{flags} {pattern}: {}", ran.stderr);
            assert!(ran.peak_bytes <= 256 * MIB, "{flags} {pattern}: {} bytes", ran.peak_bytes);
        }
    }
}

/// Counts that multiply beyond any number are a lack of memory.
#[test]
fn repetitions_without_measure_are_refused() {
    for pattern in ["(a{4000000000}){4000000000}", "a{4294967295,}", "((a{1000000}){1000000}){1000000}(b)(c)"] {
        let ran = rorqual(&["grep", "-c", "--threads", "64", pattern]).stdin("a\n").run().exits(2);
        ran.says(&["there is no memory for it", "--memory"]);
    }
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(unit).collect()
}

/// Lists as Windows's programs write them.
#[test]
fn a_list_is_text_of_any_mark() {
    let folder = TestFolder::new();
    let lists = [
        ("UTF-8", b"\xef\xbb\xbfeins\r\nz\xc3\xa4\r\n".to_vec()),
        ("UTF-16, low byte first", utf16("\u{feff}eins\r\nzä\r\n", u16::to_le_bytes)),
        ("UTF-16, high byte first", utf16("\u{feff}eins\nzä", u16::to_be_bytes)),
        ("UTF-16 without its mark", utf16("eins two\neins\nzä\n", u16::to_le_bytes)),
    ];
    for (what, list) in lists {
        let list = folder.file("list", list);
        for flags in [&["-n"][..], &["-nF"], &["-nw"]] {
            let ran = rorqual(&["grep", "-f", &list]).args(flags).stdin("one\neins\nzä x\n\u{feff}two\n").run().exits(0);
            assert_eq!(ran.text(), "2:eins\n3:zä x\n", "{what} {flags:?}");
        }
    }
    // A mark within is part of its pattern; a file that ends within a character is damaged.
    let list = folder.file("list", "two\n\u{feff}one\n");
    assert_eq!(rorqual(&["grep", "-f", &list]).stdin("one\ntwo\n").run().exits(0).text(), "two\n");
    let list = folder.file("list", [utf16("\u{feff}eins", u16::to_le_bytes), vec![b'x']].concat());
    rorqual(&["grep", "-f", &list]).stdin("eins\n").run().exits(2).says(&[&list, "it is UTF-16, and ends within a character"]);
    let list = folder.file("list", [&b"\xff\xfea\0"[..], b"\0\xd8b\0"].concat());
    rorqual(&["grep", "-f", &list]).stdin("a\n").run().exits(2).says(&["half of a pair at byte 4"]);
    // Bytes, when they are asked for.
    let list = folder.file("list", b"\xff\xfea\0");
    assert_eq!(rorqual(&["grep", "-ac", "-f", &list]).stdin(&b"\xff\xfea\0b\n"[..]).run().exits(0).text(), "1\n");
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
