//! Memory of patterns, known before they are compiled.
//!
//! The trees of all patterns are held together with the text of them; then the trees of meaning
//! beside the automata that are made of them. Trees are counted by their nodes. Automata are made
//! here of some patterns at a time, and let go: those of all together have at most as many states.

use crate::limits::{COMPILE_FACTOR, PROGRAM_BYTES_MIN, SIMULATION_FACTOR, SLOT_FACTOR, TEXT_FACTOR, WORD_BYTES, WORD_FACTOR};
use crate::pattern::{PatternError, Syntax};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_syntax::ast::{self, Ast, ClassPerlKind, ClassSet, ClassSetItem, Flag, FlagsItemKind, GroupKind};
use regex_syntax::hir::{Hir, HirKind};
use std::ops::Range;

/// Copies of the text of patterns: as they came, as they are compiled, in brackets, joined.
const COPIES: u64 = 6;

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

/// Memory of an automaton while it is made: with states that are left out once all are known.
const MADE_FACTOR: u64 = 2;

/// Patterns of which an automaton is made at once, and the memory of their trees and of it.
const CHUNK_PATTERNS: usize = 256;
const CHUNK_BYTES: u64 = 1 << 20;

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
    /// Memory of an automaton of all patterns, at most.
    pub program_bytes: u64,
    /// The same for lines in memory, of which plain words need none.
    searched_bytes: u64,
}

impl PatternCost {
    /// Most memory that compiling takes, in bytes.
    #[must_use]
    pub fn compile_bytes(&self) -> u64 {
        self.strings_bytes + self.hir_bytes + self.ast_bytes.max(COMPILE_FACTOR * self.searched_bytes)
    }

    /// Most memory of a search without tables of states, for each thread: of the automaton every
    /// state is kept, with the places of groups.
    #[must_use]
    pub fn simulation_bytes(&self) -> u64 {
        (SIMULATION_FACTOR + SLOT_FACTOR * self.groups) * self.searched_bytes
    }

    /// Limit of an automaton with which it is made, when it has states that are left out later.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        MADE_FACTOR * self.program_bytes
    }

    /// The same patterns, which turned out to have larger automata.
    #[must_use]
    pub fn grown(self) -> Self {
        let bytes = self.program_bytes + self.program_bytes / 2;
        Self { program_bytes: bytes, searched_bytes: bytes, ..self }
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
        let mut program_bytes = 0;
        for (index, pattern) in self.patterns.iter().enumerate() {
            let cost = self.cost_of(pattern)?;
            all.add(&cost);
            let is_full = index - chunk.0 == CHUNK_PATTERNS || chunk.1 + cost.trees_bytes() > CHUNK_BYTES;
            // One that is too large is refused by its trees alone.
            let is_too_large = cost.trees_bytes() > trees_bytes_max;
            if is_full || is_too_large {
                program_bytes += self.program_bytes(chunk.0..index)?;
                chunk = (index + usize::from(is_too_large), 0);
            }
            chunk.1 += if is_too_large { 0 } else { cost.trees_bytes() };
        }
        program_bytes += self.program_bytes(chunk.0..self.patterns.len())?;
        all.program_bytes = program_bytes.max(PROGRAM_BYTES_MIN);
        all.searched_bytes = if self.is_of_words() { PROGRAM_BYTES_MIN } else { all.program_bytes };
        Ok(all)
    }

    /// True if the matcher goes by a trie of words alone.
    fn is_of_words(&self) -> bool {
        /// Fewer of them may have an automaton as well.
        const WORDS_MIN: usize = 3000;
        let is_word = |pattern: &String| self.fixed || !pattern.chars().any(regex_syntax::is_meta_character);
        !self.looks_around() && !self.insensitive && self.patterns.len() >= WORDS_MIN && self.patterns.iter().all(is_word)
    }

    fn cost_of(&self, pattern: &str) -> Result<PatternCost, PatternError> {
        let strings_bytes = COPIES * (pattern.len() as u64 + STRING_BYTES);
        let is_word = self.fixed || !pattern.chars().any(regex_syntax::is_meta_character);
        if is_word && !self.insensitive {
            let hir_bytes = WORD_BYTES + WORD_FACTOR * pattern.len() as u64;
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

    /// Memory of an automaton of some patterns, in the direction that takes more.
    fn program_bytes(&self, patterns: Range<usize>) -> Result<u64, PatternError> {
        if patterns.is_empty() {
            return Ok(0);
        }
        let hir =
            self.hir_of(&self.patterns[patterns.clone()]).map_err(|error| self.bad_among(patterns.clone()).unwrap_or(error))?;
        match (compiled_bytes(&hir, false), compiled_bytes(&hir, true)) {
            (Some(forward), Some(reverse)) => Ok(forward.max(reverse)),
            _ if patterns.len() > 1 => {
                let middle = patterns.start + patterns.len() / 2;
                Ok(self.program_bytes(patterns.start..middle)? + self.program_bytes(middle..patterns.end)?)
            }
            _ => Ok(sum_of(&hir)),
        }
    }
}

/// Memory of an automaton while it is made; `None` if it is larger than those of a chunk.
fn compiled_bytes(hir: &Hir, reverse: bool) -> Option<u64> {
    let config = thompson::Config::new().utf8(false).reverse(reverse).which_captures(WhichCaptures::None);
    let config = config.nfa_size_limit(Some((MADE_FACTOR * CHUNK_BYTES) as usize));
    let nfa = thompson::Compiler::new().configure(config).build_from_hir(hir).ok()?;
    Some(nfa.memory_usage() as u64)
}

/// The same of a large expression, by its parts.
fn sum_of(hir: &Hir) -> u64 {
    const STATE_BYTES: u64 = 64;
    let all = |parts: &[Hir]| parts.iter().map(sum_of).fold(STATE_BYTES, u64::saturating_add);
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => STATE_BYTES,
        HirKind::Literal(literal) => STATE_BYTES * literal.0.len() as u64,
        HirKind::Class(_) => {
            let ways = [false, true].map(|reverse| compiled_bytes(hir, reverse).unwrap_or(CHUNK_BYTES));
            ways[0].max(ways[1])
        }
        HirKind::Capture(capture) => sum_of(&capture.sub) + 2 * STATE_BYTES,
        HirKind::Concat(parts) | HirKind::Alternation(parts) => all(parts),
        HirKind::Repetition(repetition) => {
            let times = u64::from(repetition.max.unwrap_or(repetition.min + 1).max(1));
            times.saturating_mul(sum_of(&repetition.sub) + STATE_BYTES)
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
