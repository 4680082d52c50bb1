//! A line that is typed: a filter, or a text to look for.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Characters of a line.
const CHARACTERS_MAX: usize = 4096;

/// Purpose of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptKind {
    Filter,
    FindText,
    SortColumn,
}

/// A line that is being typed.
#[derive(Debug)]
pub(super) struct PromptLine {
    pub(super) kind: PromptKind,
    text: Vec<char>,
    cursor: usize,
    /// Fault of the text.
    pub(super) error: Option<String>,
    /// Lines before, the latest last, and the one that is typed.
    history: Vec<String>,
    /// Line of these that is shown.
    shown: usize,
}

/// Effect of a key on a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PromptEnd {
    Open,
    Cancelled,
    Entered(String),
}

impl PromptLine {
    pub(super) fn new(kind: PromptKind, text: &str, history: &[String]) -> Self {
        let text: Vec<char> = text.chars().collect();
        let (cursor, shown) = (text.len(), history.len());
        Self { kind, text, cursor, error: None, history: history.to_vec(), shown }
    }

    pub(super) fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// The text before the cursor and from it on.
    pub(super) fn halves(&self) -> (String, String) {
        let (before, after) = self.text.split_at(self.cursor);
        (before.iter().collect(), after.iter().collect())
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> PromptEnd {
        let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return PromptEnd::Cancelled,
            KeyCode::Char('c' | 'g') if with_control => return PromptEnd::Cancelled,
            KeyCode::Enter => return PromptEnd::Entered(self.text()),
            KeyCode::Up => self.show(self.shown.saturating_sub(1)),
            KeyCode::Down => self.show((self.shown + 1).min(self.history.len())),
            KeyCode::Char(letter) if with_control => self.control(letter),
            KeyCode::Char(letter) if !key.modifiers.contains(KeyModifiers::ALT) => self.insert(letter),
            other => self.edit(other),
        }
        PromptEnd::Open
    }

    fn insert(&mut self, letter: char) {
        self.error = None;
        if self.text.len() < CHARACTERS_MAX && !letter.is_control() {
            self.text.insert(self.cursor, letter);
            self.cursor += 1;
        }
    }

    fn edit(&mut self, code: KeyCode) {
        match code {
            KeyCode::Left => self.cursor = self.cursor.saturating_sub(1),
            KeyCode::Right => self.cursor = (self.cursor + 1).min(self.text.len()),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            KeyCode::Backspace => self.remove(self.cursor.saturating_sub(1)),
            KeyCode::Delete => self.remove((self.cursor + 1).min(self.text.len())),
            _ => {}
        }
    }

    /// Keys as shells have them.
    fn control(&mut self, letter: char) {
        match letter {
            'a' => self.cursor = 0,
            'e' => self.cursor = self.text.len(),
            'b' => self.edit(KeyCode::Left),
            'f' => self.edit(KeyCode::Right),
            'h' => self.edit(KeyCode::Backspace),
            'd' => self.edit(KeyCode::Delete),
            'u' => self.remove(0),
            'k' => self.remove(self.text.len()),
            'w' => self.remove(self.word_start()),
            'p' => self.show(self.shown.saturating_sub(1)),
            'n' => self.show((self.shown + 1).min(self.history.len())),
            _ => {}
        }
    }

    /// Removes the text between the cursor and there.
    fn remove(&mut self, to: usize) {
        self.error = None;
        let (from, to) = (self.cursor.min(to), self.cursor.max(to));
        self.text.drain(from..to);
        self.cursor = from;
    }

    fn word_start(&self) -> usize {
        let before = &self.text[..self.cursor];
        let word = before.iter().rposition(|letter| *letter != ' ').map_or(0, |end| end + 1);
        before[..word].iter().rposition(|letter| *letter == ' ').map_or(0, |space| space + 1)
    }

    fn show(&mut self, index: usize) {
        if self.shown == self.history.len() && index != self.shown {
            // The typed line comes back after the latest.
            self.history.push(self.text());
        }
        if let Some(text) = self.history.get(index) {
            self.text = text.chars().collect();
            self.cursor = self.text.len();
            self.shown = index;
            self.error = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(prompt: &mut PromptLine, codes: &[KeyCode]) {
        codes.iter().for_each(|code| assert_eq!(prompt.key(KeyEvent::new(*code, KeyModifiers::NONE)), PromptEnd::Open));
    }

    fn hold(prompt: &mut PromptLine, letter: char) {
        prompt.key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL));
    }

    #[test]
    fn a_line_is_edited_as_in_a_shell() {
        let mut prompt = PromptLine::new(PromptKind::Filter, "status = 404", &[]);
        hold(&mut prompt, 'w');
        press(&mut prompt, &[KeyCode::Char('5'), KeyCode::Char('é'), KeyCode::Backspace, KeyCode::Char('x'), KeyCode::Char('x')]);
        assert_eq!(prompt.text(), "status = 5xx");
        press(&mut prompt, &[KeyCode::Home, KeyCode::Delete, KeyCode::Char('S'), KeyCode::Right]);
        assert_eq!(prompt.halves(), ("St".to_owned(), "atus = 5xx".to_owned()));
        hold(&mut prompt, 'k');
        assert_eq!(prompt.key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)), PromptEnd::Entered("St".to_owned()));
        assert_eq!(prompt.key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)), PromptEnd::Cancelled);
    }

    #[test]
    fn lines_before_come_back_and_the_typed_one_too() {
        let mut prompt = PromptLine::new(PromptKind::Filter, "new", &["first".to_owned(), "second".to_owned()]);
        for (code, text) in [
            (KeyCode::Up, "second"),
            (KeyCode::Up, "first"),
            (KeyCode::Up, "first"),
            (KeyCode::Down, "second"),
            (KeyCode::Down, "new"),
            (KeyCode::Down, "new"),
        ] {
            press(&mut prompt, &[code]);
            assert_eq!(prompt.text(), text);
        }
    }
}
