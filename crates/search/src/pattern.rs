//! What is looked for.

use crate::limits::{COMPILE_FACTOR, TEXT_FACTOR, WORD_FACTOR};
use crate::long::{Extent, LongMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::{self, Ast, ClassSetItem};
use regex_syntax::hir::{Hir, Look, translate::TranslatorBuilder};
use std::fmt;
use std::sync::Arc;

/// Whether letters match their other case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// They do not.
    Sensitive,
    /// They do.
    Insensitive,
    /// They do unless a pattern has an upper-case letter.
    Smart,
}

/// Patterns, any of which may match, and how.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// The patterns; none match nothing. A pattern has no newline.
    pub patterns: Vec<String>,
    /// They are texts, not regular expressions.
    pub fixed: bool,
    /// Whether letters match their other case.
    pub case: Case,
    /// A match starts and ends where a word does.
    pub word: bool,
    /// A match is a whole line.
    pub whole_line: bool,
    /// Most memory of the compiled patterns, and of each automaton made from them, in bytes.
    pub bytes_max: u64,
}

/// A pattern that can't be compiled.
#[derive(Debug)]
pub struct PatternError(String);

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PatternError {}

/// A compiled pattern.
pub struct Expression {
    pattern: Arc<Pattern>,
    matcher: RegexMatcher,
    /// Made when the first over-long line is met.
    long: Option<LongMatcher>,
}

impl Expression {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// When a pattern is no regular expression, has a newline, or is too large when compiled.
    pub fn new(pattern: Pattern) -> Result<Self, PatternError> {
        let matcher = pattern.matcher()?;
        Ok(Self { pattern: Arc::new(pattern), matcher, long: None })
    }

    /// The matcher for lines in memory; a clone for each worker.
    #[must_use]
    pub fn matcher(&self) -> RegexMatcher {
        self.matcher.clone()
    }

    pub(crate) fn pattern(&self) -> Arc<Pattern> {
        Arc::clone(&self.pattern)
    }

    /// The matcher for lines that are longer than the memory.
    pub(crate) fn long(&mut self) -> Result<&mut LongMatcher, PatternError> {
        let matcher = match self.long.take() {
            Some(matcher) => matcher,
            None => self.pattern.long_matcher()?,
        };
        Ok(self.long.insert(matcher))
    }
}

impl Pattern {
    /// Most memory that compiling may take, in bytes, where what is compiled may take `bytes_max`.
    #[must_use]
    pub fn compile_bytes(&self, bytes_max: u64) -> u64 {
        let is_text = |pattern: &String| self.fixed || !pattern.chars().any(regex_syntax::is_meta_character);
        let as_it_is = self.case == Case::Sensitive && !self.word && !self.whole_line;
        let factor = if as_it_is && self.patterns.iter().all(is_text) { WORD_FACTOR } else { TEXT_FACTOR };
        // Each is a string of its own.
        let text = self.patterns.iter().map(|pattern| (pattern.len() + size_of::<String>()) as u64).sum::<u64>();
        (text * factor).max(bytes_max * COMPILE_FACTOR)
    }

    fn matcher(&self) -> Result<RegexMatcher, PatternError> {
        let size = self.size_max();
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            // Of no pattern at all, folding would make the empty one, which matches everything.
            .case_insensitive(!self.patterns.is_empty() && self.insensitive()?)
            .word(self.word)
            .whole_line(self.whole_line)
            .fixed_strings(self.fixed)
            .size_limit(size)
            .dfa_size_limit(size);
        builder.build_many(&self.patterns).map_err(|error| self.explain(&error.to_string()))
    }

    fn long_matcher(&self) -> Result<LongMatcher, PatternError> {
        LongMatcher::new(&self.hir()?, self.size_max()).map_err(|error| self.explain(&error))
    }

    pub(crate) fn extent(&self) -> Result<Extent, PatternError> {
        Extent::new(&self.hir()?, self.size_max()).map_err(|error| self.explain(&error))
    }

    /// Whether it matches where there is nothing.
    pub(crate) fn may_be_empty(&self) -> bool {
        self.hir().is_ok_and(|hir| hir.properties().minimum_len() == Some(0))
    }

    fn size_max(&self) -> usize {
        usize::try_from(self.bytes_max).unwrap_or(usize::MAX)
    }

    /// The same expression that [`grep_regex`] makes of the patterns.
    fn hir(&self) -> Result<Hir, PatternError> {
        let (pattern, ast) = self.parse()?;
        let mut translator = TranslatorBuilder::new();
        translator.utf8(false).multi_line(true).case_insensitive(self.insensitive()?);
        let hir = translator.build().translate(&pattern, &ast).map_err(|error| self.explain(&error.to_string()))?;
        let hir = if self.patterns.is_empty() { Hir::fail() } else { hir };
        let around = |start, hir, end| Hir::concat(vec![Hir::look(start), hir, Hir::look(end)]);
        Ok(match (self.whole_line, self.word) {
            (true, _) => around(Look::StartLF, hir, Look::EndLF),
            (false, true) => around(Look::WordStartHalfUnicode, hir, Look::WordEndHalfUnicode),
            (false, false) => hir,
        })
    }

    fn parse(&self) -> Result<(String, Ast), PatternError> {
        let part = |pattern: &String| match self.fixed {
            true => format!("(?:{})", regex_syntax::escape(pattern)),
            false => format!("(?:{pattern})"),
        };
        let joined = self.patterns.iter().map(part).collect::<Vec<_>>().join("|");
        let ast = ast::parse::Parser::new().parse(&joined).map_err(|error| self.explain(&error.to_string()))?;
        Ok((joined, ast))
    }

    fn insensitive(&self) -> Result<bool, PatternError> {
        Ok(match self.case {
            Case::Sensitive => false,
            Case::Insensitive => true,
            Case::Smart => {
                let (_, ast) = self.parse()?;
                let letters = ast::visit(&ast, Letters::default()).unwrap_or_default();
                letters.any && !letters.upper
            }
        })
    }

    fn explain(&self, cause: &str) -> PatternError {
        let megabytes = self.bytes_max >> 20;
        if cause.contains("size limit") {
            return PatternError(format!(
                "the compiled pattern is larger than {megabytes} MiB, a 64th of the memory given (a larger --memory moves the limit)"
            ));
        }
        // The parser was given all patterns as one: its brackets and position would puzzle who typed them.
        let reason = cause.lines().rev().find_map(|line| line.strip_prefix("error: "));
        let shown = self.patterns.join("\n");
        match reason {
            Some(reason) => PatternError(format!("the pattern {shown:?} is no regular expression: {reason}")),
            None => PatternError(format!("the pattern {shown:?} can't be used: {cause}")),
        }
    }
}

/// What letters a pattern has, for [`Case::Smart`].
#[derive(Default)]
struct Letters {
    any: bool,
    upper: bool,
}

impl Letters {
    fn see(&mut self, literal: &ast::Literal) {
        self.any = true;
        self.upper |= literal.c.is_uppercase();
    }
}

impl ast::Visitor for Letters {
    type Output = Self;
    type Err = ();

    fn finish(self) -> Result<Self, ()> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), ()> {
        if let Ast::Literal(literal) = ast {
            self.see(literal);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), ()> {
        match item {
            ClassSetItem::Literal(literal) => self.see(literal),
            ClassSetItem::Range(range) => {
                self.see(&range.start);
                self.see(&range.end);
            }
            _ => {}
        }
        Ok(())
    }
}
