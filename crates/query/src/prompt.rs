//! The prompt.

use crate::exit::ExitStatus;
use crate::message;
use crate::statement::Runner;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use std::path::PathBuf;

/// Lines that are remembered.
const HISTORY_LINES_MAX: usize = 1_000;

const PROMPT: &str = "sql> ";
const PROMPT_MORE: &str = "...> ";

const HELP: &str = "a table is a file's path in single quotes, as in SELECT * FROM 'access.log' LIMIT 5;
  \\d          tables and views that were created here
  \\d FILE     the columns of a file, a table or a view
  \\f          functions
  \\q          ends, as Ctrl-D does
  Ctrl-C      clears what was typed, or stops the query
  up, Ctrl-R  what was typed before";

/// Reads statements and runs them until the end of input. A statement ends with a semicolon.
pub(crate) async fn run(runner: &Runner<'_>) -> ExitStatus {
    let mut lines = match PromptLines::open() {
        Ok(lines) => lines,
        Err(error) => return message::error(&format!("no prompt: {error}")),
    };
    message::note(&"statements end with ; and may have several lines. \\? tells more, Ctrl-D ends");
    let mut statement = String::new();
    loop {
        let prompt = if statement.is_empty() { PROMPT } else { PROMPT_MORE };
        match lines.editor.readline(prompt) {
            Ok(line) if statement.is_empty() && matches!(line.trim(), "exit" | "quit" | "\\q") => break,
            Ok(line) if statement.is_empty() && line.trim_start().starts_with('\\') => {
                lines.remember(&line);
                match command(line.trim()) {
                    Some(sql) => drop(runner.all(&sql).await),
                    None => message::note(&HELP),
                }
            }
            Ok(line) => {
                statement.push_str(&line);
                statement.push('\n');
                if is_complete(&statement) {
                    lines.remember(&statement);
                    // The error was told; the next statement may go well.
                    runner.all(&std::mem::take(&mut statement)).await;
                } else if statement.trim().is_empty() {
                    statement.clear();
                }
            }
            Err(ReadlineError::Interrupted) => statement.clear(),
            Err(ReadlineError::Eof) => break,
            Err(error) => return message::error(&format!("the prompt: {error}")),
        }
    }
    lines.save();
    ExitStatus::Done
}

/// The statement that a command stands for; `None` where help is asked for or meant.
fn command(line: &str) -> Option<String> {
    match line.split_once(char::is_whitespace).map_or((line, ""), |(command, rest)| (command, rest.trim())) {
        ("\\d", "") => {
            Some("SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public'".to_owned())
        }
        ("\\d", name) => {
            let name = name.trim_end_matches(';').trim_matches(['\'', '"']);
            Some(format!("DESCRIBE \"{}\"", name.replace('"', "\"\"")))
        }
        ("\\f", _) => Some("SELECT DISTINCT routine_name AS function FROM information_schema.routines ORDER BY 1".to_owned()),
        _ => None,
    }
}

/// True if a semicolon outside of quotes and comments ends it.
fn is_complete(text: &str) -> bool {
    let (mut quote, mut last, mut before, mut in_comment) = (None, ' ', ' ', false);
    for character in text.chars() {
        match (quote, character) {
            _ if in_comment => in_comment = character != '\n',
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '-') if last == '-' => (in_comment, last) = (true, before),
            _ => {}
        }
        if quote.is_none() && !in_comment && !character.is_whitespace() {
            (before, last) = (last, character);
        }
    }
    quote.is_none() && last == ';'
}

struct PromptLines {
    editor: Editor<(), FileHistory>,
    history: Option<PathBuf>,
}

impl PromptLines {
    fn open() -> rustyline::Result<Self> {
        let config = Config::builder().max_history_size(HISTORY_LINES_MAX)?.auto_add_history(false).build();
        let mut editor = Editor::with_config(config)?;
        let history = history_path();
        // There is none the first time.
        history.as_ref().map(|path| editor.load_history(path));
        Ok(Self { editor, history })
    }

    fn remember(&mut self, statement: &str) {
        // A line that can't be remembered is typed again.
        let _ = self.editor.add_history_entry(statement.trim());
    }

    fn save(&mut self) {
        let Some(path) = &self.history else { return };
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = folder.map_err(ReadlineError::from).and_then(|()| self.editor.append_history(path)) {
            message::note(&format!("the history is not kept: {error}"));
        }
    }
}

/// Path by the XDG base directories.
fn history_path() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| std::env::home_dir().map(|home| home.join(".local/state")))?;
    Some(state.join("rorqual/query_history"))
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn a_statement_ends_with_a_semicolon_of_its_own() {
        for text in ["SELECT 1;", "SELECT ';';\n", "SELECT 1; -- done", "SELECT '--';", "SELECT \"a;b\" ; "] {
            assert!(is_complete(text), "{text}");
        }
        for text in ["", "SELECT 1", "SELECT ';'", "SELECT 1 -- ;", "SELECT '", "SELECT 'it''s;"] {
            assert!(!is_complete(text), "{text}");
        }
    }
}
