//! Arguments typed by habit, rewritten for clap: `-5` of grep as `-C5`, and `--color` without a
//! value as `--color=auto`.

use crate::args::Cli;
use clap::{Command, CommandFactory};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The command line, the program's name first.
pub(crate) fn typed(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let args: Vec<OsString> = args.collect();
    if !args.iter().skip(1).any(|arg| is_habit(arg.as_bytes())) {
        return args;
    }
    let program = Cli::command();
    let mut typed = Typed { commands: vec![&program], done: Vec::new(), is_grep: false };
    let mut rest = args.into_iter().peekable();
    typed.done.extend(rest.next());
    while let Some(arg) = rest.next() {
        if arg == "--" {
            typed.done.push(arg);
            break;
        }
        // The value of the flag before is no flag, whatever it looks like.
        let value_follows = typed.one(arg, rest.peek().map(OsString::as_os_str));
        if value_follows {
            typed.done.extend(rest.next());
        }
    }
    typed.done.extend(rest);
    typed.done
}

/// True for an argument that may be rewritten.
fn is_habit(arg: &[u8]) -> bool {
    is_colour(arg) || arg.first() == Some(&b'-') && arg.get(1) != Some(&b'-') && arg.iter().any(u8::is_ascii_digit)
}

fn is_colour(arg: &[u8]) -> bool {
    matches!(arg, b"--color" | b"--colour")
}

struct Typed<'a> {
    /// The program, and the verb once it is known: their flags apply.
    commands: Vec<&'a Command>,
    done: Vec<OsString>,
    is_grep: bool,
}

impl Typed<'_> {
    /// Takes one argument. Returns true if the next one is its value.
    fn one(&mut self, arg: OsString, next: Option<&OsStr>) -> bool {
        let bytes = arg.as_bytes();
        if is_colour(bytes) {
            let with_value = next.is_some_and(|next| matches!(next.as_bytes(), b"auto" | b"always" | b"never"));
            self.done.push(if with_value { arg } else { "--color=auto".into() });
            return with_value;
        }
        if let Some(long) = bytes.strip_prefix(b"--") {
            let takes = !long.contains(&b'=') && self.takes(|arg| arg.get_long().is_some_and(|name| name.as_bytes() == long));
            self.done.push(arg);
            return takes;
        }
        if bytes.len() > 1 && bytes[0] == b'-' {
            return self.short(&bytes[1..]);
        }
        if let [program] = self.commands[..]
            && let Some(verb) = program.find_subcommand(&arg)
        {
            self.is_grep = verb.get_name() == "grep";
            self.commands.push(verb);
        }
        self.done.push(arg);
        false
    }

    /// Takes flags of a letter each; digits among them are lines around.
    fn short(&mut self, letters: &[u8]) -> bool {
        let mut flags = vec![b'-'];
        let mut at = 0;
        let mut value_follows = false;
        while let Some(&letter) = letters.get(at) {
            let digits = letters[at..].iter().take_while(|letter| letter.is_ascii_digit()).count();
            if self.is_grep && digits > 0 && letters[at..at + digits] != *b"0" {
                self.flags(&mut flags);
                self.done.push(OsString::from_vec([b"-C", &letters[at..at + digits]].concat()));
                at += digits;
                continue;
            }
            at += 1;
            flags.push(letter);
            if self.takes(|arg| arg.get_short() == Some(char::from(letter))) {
                flags.extend(&letters[at..]);
                value_follows = at == letters.len();
                break;
            }
        }
        self.flags(&mut flags);
        value_follows
    }

    fn flags(&mut self, flags: &mut Vec<u8>) {
        if flags.len() > 1 {
            self.done.push(OsString::from_vec(std::mem::replace(flags, vec![b'-'])));
        }
    }

    fn takes(&self, is_it: impl Fn(&clap::Arg) -> bool) -> bool {
        let mut args = self.commands.iter().flat_map(|command| command.get_arguments());
        args.any(|arg| is_it(arg) && arg.get_action().takes_values())
    }
}

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn habits_are_read_and_values_are_left() {
        for (line, expected) in [
            ("grep -5 x", "grep -C5 x"),
            ("grep -n12v x", "grep -n -C12 -v x"),
            ("grep -0l x", "grep -0l x"),
            ("grep -A2 -m 3 x", "grep -A2 -m 3 x"),
            ("grep -e -5 x", "grep -e -5 x"),
            ("grep -e-5 -m -5", "grep -e-5 -m -5"),
            ("--memory 64MiB grep -2 x", "--memory 64MiB grep -C2 x"),
            ("grep --color x f", "grep --color=auto x f"),
            ("grep --color always x", "grep --color always x"),
            ("grep -e --color --colour", "grep -e --color --color=auto"),
            ("grep x -- -5 --color", "grep x -- -5 --color"),
            ("head -5 x", "head -5 x"),
        ] {
            let args = std::iter::once("rorqual").chain(line.split(' ')).map(Into::into);
            let joined = typed(args)[1..].join(std::ffi::OsStr::new(" "));
            assert_eq!(joined, expected, "{line}");
        }
    }
}
