//! Patterns to search for.

use crate::cost::{self, PatternCost};
use crate::long::{LongMatcher, MatchFollower};
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::{self, Ast, ClassSetItem};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Literal, Look};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Characters of a bad pattern that an error quotes.
const PATTERN_CHARS_SHOWN: usize = 200;

/// Matching of upper and lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseMatching {
    /// Letters match themselves only.
    Sensitive,
    /// Letters match their other case.
    Insensitive,
    /// Letters match their other case unless a pattern has an upper-case one.
    Smart,
}

/// End of a line, and so the meaning of `^` and `$`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnd {
    /// After a newline.
    Newline,
    /// After a newline; a carriage return before it belongs to the end.
    Crlf,
    /// After a NUL; a newline is a byte as any other.
    Nul,
}

/// Patterns, any of which may match, and how.
#[derive(Debug, Clone)]
pub struct SearchPattern {
    /// The patterns; none match nothing. A byte that is not UTF-8 stands for itself. A pattern has
    /// no end of a line, unless matches may.
    pub patterns: Vec<Vec<u8>>,
    /// Patterns are texts, not regular expressions.
    pub fixed: bool,
    /// Matching of upper and lower case.
    pub case: CaseMatching,
    /// A match starts and ends where a word does.
    pub word: bool,
    /// A match is a whole line.
    pub whole_line: bool,
    /// End of a line.
    pub line_end: LineEnd,
    /// Matches may go on over the ends of lines.
    pub multiline: bool,
    /// A dot matches a newline, where matches may have one.
    pub dot_newline: bool,
    /// The places of groups are wanted.
    pub groups: bool,
    /// Most memory of an automaton, in bytes.
    pub bytes_max: u64,
    /// Most memory that an automaton keeps states in, in bytes.
    pub cache_bytes_max: u64,
    /// The setting with which `bytes_max` grows, as the caller's user knows it.
    pub memory_setting: &'static str,
}

/// Reason for which patterns can't be compiled.
#[derive(Debug)]
pub struct PatternError {
    /// The place of the bad one among the patterns, where one of them is.
    pub index: Option<usize>,
    /// The patterns are larger than [`SearchPattern::bytes_max`] when compiled.
    pub is_too_large: bool,
    text: String,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for PatternError {}

/// A compiled pattern.
pub struct Expression {
    syntax: Arc<Syntax>,
    matcher: RegexMatcher,
    is_multiline: bool,
    /// Made when the first over-long line is met.
    long: Option<LongMatcher>,
}

impl Clone for Expression {
    /// The same pattern. The automaton for over-long lines is not shared: the clone makes its own.
    fn clone(&self) -> Self {
        Self { syntax: Arc::clone(&self.syntax), matcher: self.matcher.clone(), is_multiline: self.is_multiline, long: None }
    }
}

impl Expression {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// When a pattern is not a regular expression, has the end of a line, or is too large when
    /// compiled.
    pub fn new(pattern: SearchPattern) -> Result<Self, PatternError> {
        let mut syntax = Syntax::new(pattern)?;
        let mut matcher = syntax.matcher()?;
        // Where no match has a newline, or depends on one, lines are searched one by one: they need
        // not be held together. Where a NUL ends lines, `^` means another place in one by itself.
        let by_lines = syntax.multiline && syntax.line_end != LineEnd::Nul;
        if by_lines && matcher.non_matching_bytes().is_some_and(|bytes| bytes.contains(b'\n')) {
            syntax.multiline = false;
            matcher = syntax.matcher()?;
        }
        Ok(Self { is_multiline: syntax.multiline, syntax: Arc::new(syntax), matcher, long: None })
    }

    /// True where matches may go on over the ends of lines, for [`search_text`].
    ///
    /// [`search_text`]: crate::search_text
    #[must_use]
    pub fn is_multiline(&self) -> bool {
        self.is_multiline
    }

    /// The matcher for lines in memory; a clone for each worker.
    #[must_use]
    pub fn matcher(&self) -> RegexMatcher {
        self.matcher.clone()
    }

    pub(crate) fn syntax(&self) -> Arc<Syntax> {
        Arc::clone(&self.syntax)
    }

    /// The matcher for lines that are longer than the memory.
    pub(crate) fn long(&mut self) -> Result<&mut LongMatcher, PatternError> {
        let matcher = match self.long.take() {
            Some(matcher) => matcher,
            None => self.syntax.long_matcher()?,
        };
        Ok(self.long.insert(matcher))
    }
}

impl SearchPattern {
    /// Memory of looking at them, in bytes, which [`SearchPattern::cost`] takes.
    #[must_use]
    pub fn parse_bytes(&self) -> u64 {
        cost::parse_bytes(self.patterns.iter().map(Vec::as_slice), escaped_bytes)
    }

    /// Memory of the patterns when compiled. The trees of one may take `trees_bytes_max` for a
    /// while; of one that needs more only the trees are counted.
    ///
    /// # Errors
    /// As [`Expression::new`], but not for its size.
    pub fn cost(&self, trees_bytes_max: u64) -> Result<PatternCost, PatternError> {
        Syntax::new(self.clone())?.cost(trees_bytes_max)
    }
}

/// The length of a pattern once bytes that are not UTF-8 are written as an expression.
fn escaped_bytes(pattern: &[u8]) -> usize {
    pattern.utf8_chunks().map(|chunk| chunk.valid().len() + chunk.invalid().len() * BYTE_EXPRESSION.len()).sum()
}

/// The look of a byte in an expression.
const BYTE_EXPRESSION: &str = r"(?-u:\xFF)";

/// Patterns as they are compiled: each is sound by itself.
pub(crate) struct Syntax {
    pub(crate) patterns: Vec<String>,
    pub(crate) fixed: bool,
    pub(crate) insensitive: bool,
    word: bool,
    whole_line: bool,
    line_end: LineEnd,
    multiline: bool,
    dot_newline: bool,
    bytes_max: u64,
    cache_bytes_max: u64,
    memory_setting: &'static str,
}

impl Syntax {
    fn new(pattern: SearchPattern) -> Result<Self, PatternError> {
        let SearchPattern {
            patterns,
            fixed,
            case,
            word,
            whole_line,
            line_end,
            multiline,
            dot_newline,
            groups,
            bytes_max,
            cache_bytes_max,
            memory_setting,
        } = pattern;
        // `^` and `$` would look for newlines in a line that a NUL ends: its borders are written
        // around each pattern.
        let borders = whole_line && line_end == LineEnd::Nul && !multiline;
        let as_text = fixed && !borders && patterns.iter().all(|pattern| std::str::from_utf8(pattern).is_ok());
        let mut letters = Letters::default();
        let texts = patterns.into_iter().enumerate().map(|(index, bytes)| {
            let text =
                if as_text { String::from_utf8_lossy(&bytes).into_owned() } else { expression(bytes, fixed, groups, index)? };
            if case == CaseMatching::Smart {
                letters.see_all(&if as_text { regex_syntax::escape(&text) } else { text.clone() });
            }
            Ok(if borders { format!("^(?:{text})$") } else { text })
        });
        let patterns = texts.collect::<Result<Vec<_>, _>>()?;
        let insensitive = match case {
            CaseMatching::Sensitive => false,
            CaseMatching::Insensitive => true,
            CaseMatching::Smart => letters.any && !letters.upper,
        };
        let whole_line = whole_line && !borders;
        Ok(Self {
            patterns,
            fixed: as_text,
            insensitive,
            word,
            whole_line,
            line_end,
            multiline,
            dot_newline,
            bytes_max,
            cache_bytes_max,
            memory_setting,
        })
    }

    fn matcher(&self) -> Result<RegexMatcher, PatternError> {
        self.build(&self.patterns).map_err(|cause| {
            // Which one it is, is looked for when something is wrong only.
            let alone = |pattern: &String| self.build(std::slice::from_ref(pattern)).err().filter(|cause| !is_of_size(cause));
            let mut each = self.patterns.iter().enumerate();
            let bad = if is_of_size(&cause) { None } else { each.find_map(|(index, text)| Some((index, text, alone(text)?))) };
            match bad {
                Some((index, text, cause)) => bad_pattern(index, text.as_bytes(), &cause),
                None => self.explain(&cause),
            }
        })
    }

    fn build(&self, patterns: &[String]) -> Result<RegexMatcher, String> {
        let (size, cache) = (self.size_max(), self.cache_max());
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            // Of no pattern at all, folding would make the empty one, which matches everything.
            .case_insensitive(!patterns.is_empty() && self.insensitive)
            .word(self.word)
            .whole_line(self.whole_line)
            .fixed_strings(self.fixed)
            .size_limit(size)
            .dfa_size_limit(cache);
        match self.line_end {
            // `^`, `$` and a dot look at newlines also where NULs end lines, as ripgrep has it.
            LineEnd::Newline | LineEnd::Nul if self.multiline => {
                builder.line_terminator(None).dot_matches_new_line(self.dot_newline);
            }
            LineEnd::Newline => {}
            LineEnd::Crlf => {
                builder.crlf(true);
                if self.multiline {
                    builder.line_terminator(None).dot_matches_new_line(self.dot_newline);
                }
            }
            LineEnd::Nul => {
                builder.line_terminator(None).multi_line(false).dot_matches_new_line(true);
            }
        }
        builder.build_many(patterns).map_err(|error| error.to_string())
    }

    fn long_matcher(&self) -> Result<LongMatcher, PatternError> {
        if self.is_of_words() {
            return LongMatcher::of_words(&self.patterns).map_err(|error| self.explain(&error));
        }
        LongMatcher::new(&self.hir()?, (self.size_max(), self.cache_max()), self.line_end == LineEnd::Crlf)
            .map_err(|error| self.explain(&error))
    }

    pub(crate) fn extent(&self) -> Result<MatchFollower, PatternError> {
        MatchFollower::new(&self.hir()?, (self.size_max(), self.cache_max())).map_err(|error| self.explain(&error))
    }

    /// True where it matches an empty text.
    pub(crate) fn may_be_empty(&self) -> bool {
        self.hir().is_ok_and(|hir| hir.properties().minimum_len() == Some(0))
    }

    /// The error of the first pattern among these that is none by itself.
    pub(crate) fn bad_among(&self, patterns: Range<usize>) -> Option<PatternError> {
        patterns.into_iter().find_map(|index| {
            let cause = self.translated(std::slice::from_ref(&self.patterns[index])).err()?;
            Some(bad_pattern(index, self.patterns[index].as_bytes(), &cause))
        })
    }

    /// True if a match depends on what is around it.
    pub(crate) fn looks_around(&self) -> bool {
        self.word || self.whole_line
    }

    fn size_max(&self) -> usize {
        usize::try_from(self.bytes_max).unwrap_or(usize::MAX)
    }

    fn cache_max(&self) -> usize {
        usize::try_from(self.cache_bytes_max).unwrap_or(usize::MAX)
    }

    /// The expression that [`grep_regex`] makes of the patterns.
    fn hir(&self) -> Result<Hir, PatternError> {
        self.hir_of(&self.patterns)
    }

    /// The same of some of them.
    pub(crate) fn hir_of(&self, patterns: &[String]) -> Result<Hir, PatternError> {
        self.translated(patterns).map_err(|cause| self.explain(&cause))
    }

    fn translated(&self, patterns: &[String]) -> Result<Hir, String> {
        let crlf = self.line_end == LineEnd::Crlf;
        let hir = match patterns {
            [] => Hir::fail(),
            texts if self.are_texts(texts) => Hir::alternation(texts.iter().map(|text| Hir::literal(text.as_bytes())).collect()),
            patterns => self.joined(patterns)?,
        };
        let hir = if crlf { without_return(hir) } else { hir };
        let around = |start, hir, end| Hir::concat(vec![Hir::look(start), hir, Hir::look(end)]);
        Ok(match (self.whole_line, self.word) {
            (true, _) if crlf => around(Look::StartCRLF, hir, Look::EndCRLF),
            (true, _) => around(Look::StartLF, hir, Look::EndLF),
            (false, true) => around(Look::WordStartHalfUnicode, hir, Look::WordEndHalfUnicode),
            (false, false) => hir,
        })
    }

    fn joined(&self, patterns: &[String]) -> Result<Hir, String> {
        let part = |pattern: &String| match self.fixed {
            true => format!("(?:{})", regex_syntax::escape(pattern)),
            false => format!("(?:{pattern})"),
        };
        let joined = patterns.iter().map(part).collect::<Vec<_>>().join("|");
        let ast = ast::parse::Parser::new().parse(&joined).map_err(|error| error.to_string())?;
        let nul = self.line_end == LineEnd::Nul;
        let mut translator = TranslatorBuilder::new();
        translator.utf8(false).multi_line(!nul).dot_matches_new_line(nul).crlf(self.line_end == LineEnd::Crlf);
        translator.case_insensitive(self.insensitive);
        translator.build().translate(&joined, &ast).map_err(|error| error.to_string())
    }

    pub(crate) fn explain(&self, cause: &str) -> PatternError {
        let (megabytes, setting) = (self.bytes_max >> 20, self.memory_setting);
        let text = match &self.patterns[..] {
            _ if is_of_size(cause) => format!(
                "the compiled pattern is larger than {megabytes} MiB, and there is no memory for more (a larger {setting} moves the limit)"
            ),
            [pattern] => return bad_pattern(0, pattern.as_bytes(), cause),
            _ => format!("the patterns can't be used together: {}", reason(cause)),
        };
        PatternError { index: None, is_too_large: is_of_size(cause), text }
    }
}

/// An expression whose classes leave out the carriage return, as no match has one where it belongs
/// to the end of a line.
fn without_return(hir: Hir) -> Hir {
    let all = |parts: Vec<Hir>| parts.into_iter().map(without_return).collect();
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(mut class)) => {
            class.difference(&ClassUnicode::new([ClassUnicodeRange::new('\r', '\r')]));
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(mut class)) => {
            class.difference(&ClassBytes::new([ClassBytesRange::new(b'\r', b'\r')]));
            Hir::class(Class::Bytes(class))
        }
        HirKind::Repetition(mut repetition) => {
            repetition.sub = Box::new(without_return(*repetition.sub));
            Hir::repetition(repetition)
        }
        HirKind::Capture(mut capture) => {
            capture.sub = Box::new(without_return(*capture.sub));
            Hir::capture(capture)
        }
        HirKind::Concat(parts) => Hir::concat(all(parts)),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)),
        HirKind::Literal(Literal(bytes)) => Hir::literal(bytes),
        HirKind::Look(look) => Hir::look(look),
        HirKind::Empty => Hir::empty(),
    }
}

fn is_of_size(cause: &str) -> bool {
    cause.contains("size limit")
}

fn bad_pattern(index: usize, pattern: &[u8], cause: &str) -> PatternError {
    let shown: String = String::from_utf8_lossy(pattern).chars().take(PATTERN_CHARS_SHOWN).collect();
    let text = format!("the pattern {shown:?} is not a regular expression: {}", reason(cause));
    PatternError { index: Some(index), is_too_large: false, text }
}

/// The reason without the parser's drawing of the pattern.
fn reason(cause: &str) -> &str {
    cause.lines().rev().find_map(|line| line.strip_prefix("error: ")).unwrap_or(cause)
}

/// A pattern as an expression that is sound by itself, and stays so between brackets.
fn expression(bytes: Vec<u8>, fixed: bool, groups: bool, index: usize) -> Result<String, PatternError> {
    let text = match String::from_utf8(bytes) {
        Ok(text) if fixed => return Ok(regex_syntax::escape(&text)),
        Ok(text) if !text.chars().any(regex_syntax::is_meta_character) => return Ok(text),
        Ok(text) => text,
        Err(error) => of_bytes(error.as_bytes(), fixed, index)?,
    };
    let parse = |text: &str| ast::parse::Parser::new().parse(text).map_err(|error| error.to_string());
    let ast = parse(&text).map_err(|error| bad_pattern(index, text.as_bytes(), &error))?;
    let text = if groups { text } else { without_groups(&text, &ast) };
    drop(ast);
    // A comment of `(?x)` would go on over the bracket.
    let commented = text.contains('#') && parse(&format!("(?:{text})")).is_err();
    Ok(if commented { text + "\n" } else { text })
}

/// The same expression with brackets that keep no place: a search that keeps them needs memory for
/// each in each of its states.
fn without_groups(text: &str, ast: &Ast) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut copied = 0;
    for group in cost::groups(ast) {
        plain += &text[copied..group.start];
        plain += "?:";
        copied = group.end;
    }
    plain + &text[copied..]
}

/// An expression of bytes: those that are not UTF-8 stand for themselves, which they can't within a
/// class.
fn of_bytes(bytes: &[u8], fixed: bool, index: usize) -> Result<String, PatternError> {
    let mut text = String::new();
    let mut marked = String::new();
    // A character that no pattern has, as it is none.
    const MARK: char = '\u{10ffff}';
    for chunk in bytes.utf8_chunks() {
        let valid = if fixed { regex_syntax::escape(chunk.valid()) } else { chunk.valid().to_owned() };
        text += &valid;
        marked += &valid;
        for byte in chunk.invalid() {
            text += &format!(r"(?-u:\x{byte:02X})");
            marked.push(MARK);
        }
    }
    let bad = |cause: &str| bad_pattern(index, bytes, cause);
    let ast = ast::parse::Parser::new().parse(&marked).map_err(|error| bad(&error.to_string()))?;
    if ast::visit(&ast, InClass(MARK)).is_err() {
        return Err(bad(r"a byte that is not UTF-8 stands in a class; there it is written as in (?-u)[\xFF]"));
    }
    Ok(text)
}

/// Fails at a character that stands in a class.
struct InClass(char);

impl ast::Visitor for InClass {
    type Output = ();
    type Err = ();

    fn finish(self) -> Result<(), ()> {
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), ()> {
        let is_in = match item {
            ClassSetItem::Literal(literal) => literal.c == self.0,
            ClassSetItem::Range(range) => range.start.c == self.0 || range.end.c == self.0,
            _ => false,
        };
        if is_in { Err(()) } else { Ok(()) }
    }
}

/// Letters of a pattern, for [`CaseMatching::Smart`].
#[derive(Default)]
struct Letters {
    any: bool,
    upper: bool,
}

impl Letters {
    /// Sees the letters of a sound pattern.
    fn see_all(&mut self, pattern: &str) {
        let seen = ast::parse::Parser::new().parse(pattern).ok().and_then(|ast| ast::visit(&ast, Self::default()).ok());
        let Self { any, upper } = seen.unwrap_or_default();
        self.any |= any;
        self.upper |= upper;
    }

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
