//! Memory of patterns, known before they are compiled.
//!
//! The trees of all patterns are held together with the text of them; then the trees of meaning
//! beside the automata that are made of them. Trees are counted by their nodes. Automata are made
//! here of some patterns at a time, and let go: those of all together have at most as many states.
//! Many plain words have neither: they become a trie of their own.

use crate::limits::{
    COMPILE_BYTES, COMPILE_FACTOR, PROGRAM_BYTES_MIN, SIMULATED_STATE_BYTES, SLOT_BYTES, STATE_SLOT_BYTES, TEXT_FACTOR,
    TRIE_LETTER_BYTES, WORD_BYTES, WORD_FACTOR, WORD_PAIR_BYTES,
};
use crate::pattern::{PatternError, Syntax};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_syntax::ast::{self, Ast, ClassPerlKind, ClassSet, ClassSetItem, Flag, FlagsItemKind, GroupKind};
use regex_syntax::hir::{Hir, HirKind};
use std::collections::HashSet;
use std::ops::Range;

/// Copies of the text of patterns: as they came, as they are compiled, in brackets, joined.
const COPIES: u64 = 6;

/// The same of plain texts alone, which are not put into brackets.
const TEXT_COPIES: u64 = 3;

/// Memory of one string of them beside its bytes.
const STRING_BYTES: u64 = 48;

/// A letter in the tree of syntax, and any other node.
const AST_LETTER_BYTES: u64 = 96;
const AST_NODE_BYTES: u64 = 256;

/// A letter in the tree of meaning, where it stands for itself and where it is a class of both its
/// cases; and any other node.
const HIR_LETTER_BYTES: u64 = 8;
const HIR_FOLDED_BYTES: u64 = 320;
const HIR_NODE_BYTES: u64 = 256;

/// A range of characters of a class, and copies of it while a class is made of several.
const RANGE_BYTES: u64 = 8;
const RANGE_COPIES: u64 = 4;

/// Ranges of `\d`, `\s`, `\w`, of the largest property of characters, and those that letters of
/// both cases add to any class.
const DIGIT_RANGES: u64 = 96;
const SPACE_RANGES: u64 = 16;
const WORD_RANGES: u64 = 896;
const PROPERTY_RANGES: u64 = 1024;
const FOLDED_RANGES: u64 = 4096;

/// Characters that there are.
const ALL_CHARACTERS: u64 = 0x11_0000;

/// Copies of these, and the ranges that each character of a narrow range adds.
const FOLDED_COPIES: u64 = 2;
const FOLDED_EACH: u64 = 4;

/// Share of the memory of making a trie of words that it holds: a 6th. Measured: a 6th to a 9th.
const HELD_WORDS_SHARE: u64 = 6;

/// Memory of the tree of meaning of a plain text, beside its letters.
const HIR_TEXT_BYTES: u64 = 192;

/// Memory of a state that is not that of a class, with its place in others.
const STATE_BYTES: u64 = 32;

/// Memory of an automaton while it is made: with states that are left out once all are known.
const MADE_FACTOR: u64 = 2;

/// Patterns of which an automaton is made at once, and the memory of their trees and of it.
const CHUNK_PATTERNS: usize = 256;
const CHUNK_BYTES: u64 = 1 << 20;

/// Sizes that stand for an automaton that is larger.
const CHUNK_SIZES: AutomatonSizes =
    AutomatonSizes { forward_bytes: CHUNK_BYTES, reverse_bytes: CHUNK_BYTES, states: CHUNK_BYTES / 24, trie_letters: 0 };

/// Most that is counted of each: no memory has room for it, and sums of such do not overflow.
const COUNTED_MAX: u64 = 1 << 44;

/// Sizes of automata.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct AutomatonSizes {
    forward_bytes: u64,
    reverse_bytes: u64,
    /// States of the one that goes forward.
    states: u64,
    /// Letters of alternatives that are all plain texts, of which a trie is made first.
    trie_letters: u64,
}

impl AutomatonSizes {
    fn larger_bytes(&self) -> u64 {
        self.forward_bytes.max(self.reverse_bytes)
    }

    fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    fn times(self, times: u64) -> Self {
        let factors = Self { forward_bytes: times, reverse_bytes: times, states: times, trie_letters: 1 };
        self.with(factors, u64::saturating_mul)
    }

    fn with(self, other: Self, sum: fn(u64, u64) -> u64) -> Self {
        let sum = |own, other| sum(own, other).min(COUNTED_MAX);
        Self {
            forward_bytes: sum(self.forward_bytes, other.forward_bytes),
            reverse_bytes: sum(self.reverse_bytes, other.reverse_bytes),
            states: sum(self.states, other.states),
            trie_letters: sum(self.trie_letters, other.trie_letters),
        }
    }

    fn of_states(states: u64) -> Self {
        let bytes = states.saturating_mul(STATE_BYTES);
        Self { forward_bytes: bytes, reverse_bytes: bytes, states, trie_letters: 0 }
    }
}

/// Memory of compiled patterns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PatternCost {
    /// Copies of the text.
    strings_bytes: u64,
    /// Trees of syntax, which are let go before automata are made.
    ast_bytes: u64,
    /// Trees of meaning.
    hir_bytes: u64,
    /// Groups whose places are kept.
    groups: u64,
    automata: AutomatonSizes,
    /// Memory of the trie of plain words while it is made, where they need no automaton.
    words_bytes: Option<u64>,
    /// A second automaton that goes back may be made, of what is before a text within the pattern.
    has_inner: bool,
}

impl PatternCost {
    /// Memory of an automaton of all patterns, in the direction that takes more, at most.
    #[must_use]
    pub fn program_bytes(&self) -> u64 {
        if self.words_bytes.is_some() { PROGRAM_BYTES_MIN } else { self.automata.larger_bytes().max(PROGRAM_BYTES_MIN) }
    }

    /// Most memory that compiling takes, in bytes, and later making the automaton for over-long
    /// lines beside what was compiled; with `follows`, that which follows a match, too.
    #[must_use]
    pub fn compile_bytes(&self, follows: bool) -> u64 {
        let AutomatonSizes { forward_bytes, reverse_bytes, .. } = self.automata;
        let before = if self.has_inner { reverse_bytes } else { 0 };
        let held = forward_bytes + reverse_bytes + before;
        let made = match self.words_bytes {
            // Over-long lines have a trie of their own, before which half of the first is let go.
            Some(bytes) if follows => bytes.max(bytes / 2 + self.made_bytes(forward_bytes)),
            Some(bytes) => bytes,
            None => (forward_bytes + before + self.made_bytes(reverse_bytes)).max(held + self.made_bytes(forward_bytes)),
        };
        COMPILE_BYTES + self.strings_bytes + made
    }

    /// Memory of making the automaton for over-long lines, in bytes.
    #[must_use]
    pub fn making_long_bytes(&self) -> u64 {
        self.words_bytes.unwrap_or_else(|| self.made_bytes(self.automata.forward_bytes))
    }

    /// Memory of that automaton beside its table of states.
    #[must_use]
    pub fn long_bytes(&self) -> u64 {
        self.words_bytes.map_or_else(|| self.follower_bytes(), |bytes| bytes / HELD_WORDS_SHARE)
    }

    /// The same of the one that follows a match.
    #[must_use]
    pub fn follower_bytes(&self) -> u64 {
        self.automata.forward_bytes + SIMULATED_STATE_BYTES * self.automata.states
    }

    /// Most memory of a search without tables of states, for each thread: of the automaton every
    /// state is kept, with the places of groups.
    #[must_use]
    pub fn simulation_bytes(&self) -> u64 {
        let states = if self.words_bytes.is_some() { 0 } else { self.automata.states };
        (STATE_SLOT_BYTES + SLOT_BYTES * (1 + self.groups)).saturating_mul(states).min(COUNTED_MAX)
    }

    /// Limit of an automaton with which it is made, when it has states that are left out later.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        MADE_FACTOR * self.automata.larger_bytes().max(PROGRAM_BYTES_MIN)
    }

    /// The same patterns, which turned out to have larger automata.
    #[must_use]
    pub fn grown(self) -> Self {
        let half = |bytes: u64| (bytes / 2).max(PROGRAM_BYTES_MIN / 2);
        let AutomatonSizes { forward_bytes, reverse_bytes, states, .. } = self.automata;
        let more = AutomatonSizes {
            forward_bytes: half(forward_bytes),
            reverse_bytes: half(reverse_bytes),
            states: states / 2,
            trie_letters: 0,
        };
        Self { automata: self.automata.plus(more), ..self }
    }

    /// Memory of the trees and of an automaton of so many bytes while it is made.
    fn made_bytes(&self, automaton_bytes: u64) -> u64 {
        let made = COMPILE_FACTOR * automaton_bytes + TRIE_LETTER_BYTES * self.automata.trie_letters;
        self.hir_bytes + self.ast_bytes.max(made)
    }

    fn trees_bytes(&self) -> u64 {
        self.ast_bytes + self.hir_bytes
    }

    fn add(&mut self, other: &Self) {
        self.strings_bytes += other.strings_bytes;
        self.ast_bytes += other.ast_bytes;
        self.hir_bytes += other.hir_bytes;
        self.groups += other.groups;
    }
}

/// Memory of looking at patterns of these texts one after another, in bytes.
pub(crate) fn parse_bytes<'a>(patterns: impl Iterator<Item = &'a [u8]>, escaped: impl Fn(&[u8]) -> usize) -> u64 {
    let lengths = patterns.map(|pattern| escaped(pattern) as u64);
    let (bytes, longest) =
        lengths.fold((0, 0), |(bytes, longest), length| (bytes + COPIES * (length + STRING_BYTES), u64::max(longest, length)));
    bytes + longest * TEXT_FACTOR
}

impl Syntax {
    /// Memory of these patterns, of which each tree may take `trees_bytes_max` for a while.
    ///
    /// # Errors
    /// When a pattern is no expression, which is known by then.
    pub(crate) fn cost(&self, trees_bytes_max: u64) -> Result<PatternCost, PatternError> {
        let mut all = PatternCost::default();
        let mut chunk: (usize, u64) = Default::default();
        let mut automata = AutomatonSizes::default();
        let are_texts = self.are_texts(&self.patterns);
        for (index, pattern) in self.patterns.iter().enumerate() {
            let cost = self.cost_of(pattern, are_texts)?;
            all.add(&cost);
            let is_full = index - chunk.0 == CHUNK_PATTERNS || chunk.1 + cost.trees_bytes() > CHUNK_BYTES;
            // One that is too large is refused by its trees alone.
            let is_too_large = cost.trees_bytes() > trees_bytes_max;
            if is_full || is_too_large {
                automata = automata.plus(self.automata(chunk.0..index)?);
                chunk = (index + usize::from(is_too_large), 0);
            }
            chunk.1 += if is_too_large { 0 } else { cost.trees_bytes() };
        }
        all.automata = automata.plus(self.automata(chunk.0..self.patterns.len())?);
        if self.is_of_words() {
            // The memory of a word has the copies of it, but for the one that the caller has.
            all.strings_bytes /= TEXT_COPIES;
            all.words_bytes = Some(self.words_bytes());
        }
        all.has_inner = self.patterns.len() == 1;
        Ok(all)
    }

    /// True if the matcher goes by a trie of words alone.
    pub(crate) fn is_of_words(&self) -> bool {
        /// Fewer of them may have an automaton as well.
        const WORDS_MIN: usize = 3000;
        self.patterns.len() >= WORDS_MIN && !self.looks_around() && self.are_texts(&self.patterns)
    }

    /// True if these are plain texts, which need no trees of syntax.
    pub(crate) fn are_texts(&self, patterns: &[String]) -> bool {
        let is_text = |pattern: &String| {
            !pattern.is_empty()
                && !pattern.contains('\n')
                && (self.fixed || !pattern.chars().any(regex_syntax::is_meta_character))
        };
        !self.insensitive && patterns.iter().all(is_text)
    }

    /// Memory of a trie of the words while it is made. Its first levels are tables of all bytes
    /// that words have.
    fn words_bytes(&self) -> u64 {
        let (mut pairs, mut bytes) = (HashSet::new(), [false; 256]);
        let mut letters = 0;
        for word in self.patterns.iter().map(String::as_bytes) {
            pairs.insert(&word[..word.len().min(2)]);
            word.iter().for_each(|byte| bytes[usize::from(*byte)] = true);
            letters += word.len() as u64;
        }
        let row_bytes = WORD_PAIR_BYTES * bytes.iter().filter(|met| **met).count() as u64;
        WORD_BYTES * self.patterns.len() as u64 + WORD_FACTOR * letters + row_bytes * pairs.len() as u64
    }

    fn cost_of(&self, pattern: &str, are_texts: bool) -> Result<PatternCost, PatternError> {
        let text_bytes = pattern.len() as u64 + STRING_BYTES;
        let strings_bytes = COPIES * text_bytes;
        if are_texts {
            let strings_bytes = TEXT_COPIES * text_bytes;
            let hir_bytes = HIR_TEXT_BYTES + pattern.len() as u64;
            return Ok(PatternCost { strings_bytes, hir_bytes, ..PatternCost::default() });
        }
        let text = if self.fixed { regex_syntax::escape(pattern) } else { pattern.to_owned() };
        let ast = ast::parse::Parser::new().parse(&text).map_err(|error| self.explain(&error.to_string()))?;
        let nodes = ast::visit(&ast, Nodes::new(self.insensitive)).map_err(|()| self.explain("a pattern has no nodes"))?;
        Ok(PatternCost {
            strings_bytes,
            ast_bytes: nodes.ast_bytes,
            hir_bytes: nodes.hir_bytes,
            groups: nodes.groups,
            ..PatternCost::default()
        })
    }

    /// Sizes of an automaton of some patterns.
    fn automata(&self, patterns: Range<usize>) -> Result<AutomatonSizes, PatternError> {
        if patterns.is_empty() {
            return Ok(AutomatonSizes::default());
        }
        let hir =
            self.hir_of(&self.patterns[patterns.clone()]).map_err(|error| self.bad_among(patterns.clone()).unwrap_or(error))?;
        match compiled(&hir) {
            Some(sizes) => Ok(AutomatonSizes { trie_letters: trie_letters(&hir), ..sizes }),
            None if patterns.len() > 1 => {
                let middle = patterns.start + patterns.len() / 2;
                Ok(self.automata(patterns.start..middle)?.plus(self.automata(middle..patterns.end)?))
            }
            None => Ok(AutomatonSizes { trie_letters: trie_letters(&hir), ..sum_of(&hir) }),
        }
    }
}

/// Sizes of an automaton; `None` if it is larger than those of a chunk.
fn compiled(hir: &Hir) -> Option<AutomatonSizes> {
    let of = |reverse: bool| {
        let config = thompson::Config::new().utf8(false).reverse(reverse).which_captures(WhichCaptures::None);
        let config = config.nfa_size_limit(Some((MADE_FACTOR * CHUNK_BYTES) as usize));
        let nfa = thompson::Compiler::new().configure(config).build_from_hir(hir).ok()?;
        Some((nfa.memory_usage() as u64, nfa.states().len() as u64))
    };
    let ((forward_bytes, states), (reverse_bytes, _)) = (of(false)?, of(true)?);
    Some(AutomatonSizes { forward_bytes, reverse_bytes, states, trie_letters: 0 })
}

/// The same of a large expression, by its parts.
fn sum_of(hir: &Hir) -> AutomatonSizes {
    let own = AutomatonSizes::of_states;
    let all = |parts: &[Hir]| parts.iter().map(|part| sum_of(part).plus(own(1))).fold(own(1), AutomatonSizes::plus);
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => own(1),
        HirKind::Literal(literal) => own(literal.0.len() as u64),
        HirKind::Class(_) => of_class(hir),
        HirKind::Capture(capture) => sum_of(&capture.sub).plus(own(2)),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => all(parts),
        HirKind::Repetition(repetition) => {
            let times = u64::from(repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1));
            sum_of(&repetition.sub).plus(own(1)).times(times)
        }
    }
}

/// Sizes of the automaton of a class, without what every automaton has.
fn of_class(hir: &Hir) -> AutomatonSizes {
    let (sizes, none) = (compiled(hir).unwrap_or(CHUNK_SIZES), compiled(&Hir::empty()).unwrap_or_default());
    sizes.with(none, u64::saturating_sub).plus(AutomatonSizes::of_states(1))
}

/// Letters of alternatives that are all plain texts, of which the compiler makes a trie.
fn trie_letters(hir: &Hir) -> u64 {
    let all = |parts: &[Hir]| parts.iter().map(trie_letters).sum();
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Literal(_) | HirKind::Class(_) => 0,
        HirKind::Capture(capture) => trie_letters(&capture.sub),
        HirKind::Repetition(repetition) => trie_letters(&repetition.sub),
        HirKind::Concat(parts) => all(parts),
        HirKind::Alternation(parts) => {
            let letters =
                |part: &Hir| if let HirKind::Literal(literal) = part.kind() { Some(literal.0.len() as u64) } else { None };
            parts.iter().map(letters).sum::<Option<u64>>().unwrap_or_else(|| all(parts))
        }
    }
}

/// Places at which a pattern begins a group that is kept, in the order of its text.
pub(crate) fn groups(ast: &Ast) -> Vec<Range<usize>> {
    let mut found = ast::visit(ast, GroupSpans::default()).unwrap_or_default();
    found.sort_unstable_by_key(|group| group.start);
    found
}

#[derive(Default)]
struct GroupSpans(Vec<Range<usize>>);

impl ast::Visitor for GroupSpans {
    type Output = Vec<Range<usize>>;
    type Err = ();

    fn finish(self) -> Result<Self::Output, ()> {
        Ok(self.0)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), ()> {
        if let Ast::Group(group) = ast {
            let start = group.span.start.offset + 1;
            match &group.kind {
                GroupKind::CaptureIndex(_) => self.0.push(start..start),
                GroupKind::CaptureName { name, .. } => self.0.push(start..name.span.end.offset + 1),
                GroupKind::NonCapturing(_) => {}
            }
        }
        Ok(())
    }
}

/// Memory of the nodes of a tree.
struct Nodes {
    /// Letters may match their other case.
    folded: bool,
    ast_bytes: u64,
    hir_bytes: u64,
    groups: u64,
}

impl Nodes {
    fn new(folded: bool) -> Self {
        Self { folded, ast_bytes: AST_NODE_BYTES, hir_bytes: HIR_NODE_BYTES, groups: 0 }
    }

    fn node(&mut self) {
        self.ast_bytes += AST_NODE_BYTES;
        self.hir_bytes += HIR_NODE_BYTES;
    }

    /// A class of so many ranges; `in_place` if nothing is done with them.
    fn ranges(&mut self, ranges: u64, in_place: bool) {
        let copies = if in_place { 1 } else { RANGE_COPIES };
        self.hir_bytes += copies * ranges * RANGE_BYTES;
    }

    /// The other case of the letters among so many characters.
    fn fold(&mut self, characters: u64) {
        if self.folded {
            self.hir_bytes += FOLDED_COPIES * FOLDED_RANGES.min(FOLDED_EACH * characters) * RANGE_BYTES;
        }
    }

    fn perl(&mut self, kind: &ClassPerlKind, in_place: bool) {
        let ranges = match kind {
            ClassPerlKind::Digit => DIGIT_RANGES,
            ClassPerlKind::Space => SPACE_RANGES,
            ClassPerlKind::Word => WORD_RANGES,
        };
        self.ranges(ranges, in_place);
    }

    fn see_flags(&mut self, flags: &ast::Flags) {
        let folds = |item: &ast::FlagsItem| item.kind == FlagsItemKind::Flag(Flag::CaseInsensitive);
        self.folded |= flags.items.iter().any(folds);
    }
}

impl ast::Visitor for Nodes {
    type Output = Self;
    type Err = ();

    fn finish(self) -> Result<Self, ()> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), ()> {
        match ast {
            Ast::Literal(_) => {
                self.ast_bytes += AST_LETTER_BYTES;
                self.hir_bytes += if self.folded { HIR_FOLDED_BYTES } else { HIR_LETTER_BYTES };
                return Ok(());
            }
            Ast::ClassPerl(class) => self.perl(&class.kind, !class.negated),
            Ast::ClassUnicode(class) => {
                self.ranges(PROPERTY_RANGES, !class.negated);
                self.fold(ALL_CHARACTERS);
            }
            Ast::ClassBracketed(class) => {
                let is_one = matches!(&class.kind, ClassSet::Item(ClassSetItem::Literal(_) | ClassSetItem::Range(_)));
                self.ranges(if is_one { 2 } else { 8 }, false);
                // What several sets have together may have all letters.
                if matches!(&class.kind, ClassSet::BinaryOp(_)) {
                    self.fold(ALL_CHARACTERS);
                }
            }
            Ast::Flags(flags) => self.see_flags(&flags.flags),
            Ast::Group(group) => match &group.kind {
                GroupKind::NonCapturing(flags) => self.see_flags(flags),
                GroupKind::CaptureIndex(_) | GroupKind::CaptureName { .. } => self.groups += 1,
            },
            _ => {}
        }
        self.node();
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), ()> {
        self.ast_bytes += AST_NODE_BYTES;
        match item {
            ClassSetItem::Perl(class) => {
                self.perl(&class.kind, false);
                self.fold(if class.kind == ClassPerlKind::Digit && !class.negated { 0 } else { ALL_CHARACTERS });
            }
            ClassSetItem::Unicode(_) => {
                self.ranges(PROPERTY_RANGES, false);
                self.fold(ALL_CHARACTERS);
            }
            ClassSetItem::Range(range) => {
                self.ranges(1, false);
                self.fold(u64::from(range.end.c) - u64::from(range.start.c) + 1);
            }
            ClassSetItem::Ascii(_) => {
                self.ranges(8, false);
                self.fold(128);
            }
            _ => {
                self.ranges(1, false);
                self.fold(1);
            }
        }
        Ok(())
    }
}
