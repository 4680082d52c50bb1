//! Parts of an analysis: the sums of one process, for another that adds them up.
//!
//! All that a report has can be added: counts, buckets of time and of numbers, values with their
//! bounds, estimates. A part has at most some MiB, so that neither process holds all of what it
//! gives or takes.

use super::heavy_hitters::{HitsAndBytes, TallyPart, ValuesPart};
use super::notes::HeldNotes;
use super::timeline::TimelinePart;
use super::totals::HITS_MAX;
use super::{Analysis, FieldTally, LineTotals, lock};
use crate::agent::Agent;
use crate::format::Field;
use crate::input_report::InputReport;
use serde::{Deserialize, Serialize};

/// Sums of one process, for another one of the same version. The sums of a process begin with one
/// of them; each field has one before its values.
#[derive(Debug, Serialize, Deserialize)]
pub struct AnalysisPart(pub(crate) PartContent);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum PartContent {
    Sums(Box<LineTotals>, TimelinePart),
    /// The tally of that number; if it is that of agents, those that its classes stand for.
    Tally(u8, TallyPart, Vec<Agent>),
    Values(u8, ValuesPart),
    Input(Box<InputPart>),
}

/// A part of an input, or all of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct InputPart {
    /// Number of the input among all.
    pub number: u64,
    /// The input, with the lines and bytes of this part.
    pub source: InputReport,
    /// Its format is unknown, and may be given.
    pub lacks_format: bool,
    /// The lines that its format was found by, where that is worth a note.
    pub head: Option<Vec<u8>>,
    /// Offset of its clock in seconds east of UTC.
    pub zone_seconds: Option<i32>,
    pub(crate) counted: HitsAndBytes,
    pub(crate) held: HeldNotes,
}

impl InputPart {
    fn is_sound(&self) -> bool {
        let counts = [self.source.bytes, self.source.lines, self.counted.hits];
        counts.iter().all(|count| *count < HITS_MAX)
    }
}

/// The bytes are no part of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignPart;

impl AnalysisPart {
    /// The part as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Of lists, numbers and texts in memory nothing can fail.
        postcard::to_allocvec(&self.0).unwrap_or_default()
    }

    /// The part that these bytes are.
    ///
    /// # Errors
    /// When they are none.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, ForeignPart> {
        let (content, rest) = postcard::take_from_bytes(bytes).map_err(|_| ForeignPart)?;
        if rest.is_empty() { Ok(Self(content)) } else { Err(ForeignPart) }
    }

    /// A part that tells of an input.
    #[must_use]
    pub fn of_input(input: InputPart) -> Self {
        Self(PartContent::Input(Box::new(input)))
    }
}

impl Analysis {
    /// Gives the sums so far as parts, without the inputs, to a function that may end it.
    ///
    /// # Errors
    /// The error of the function.
    pub fn parts<E>(&self, mut give: impl FnMut(AnalysisPart) -> Result<(), E>) -> Result<(), E> {
        let timeline = lock(&self.timeline).part();
        give(AnalysisPart(PartContent::Sums(Box::new(self.totals().clone()), timeline)))?;
        for (number, tally) in self.all_tallies().enumerate() {
            let number = number as u8;
            let give = std::cell::RefCell::new(&mut give);
            tally.parts(
                |first| {
                    let agents = if self.is_of_agents(number) { self.agents_of(&first) } else { Vec::new() };
                    give.borrow_mut()(AnalysisPart(PartContent::Tally(number, first, agents)))
                },
                |values| give.borrow_mut()(AnalysisPart(PartContent::Values(number, values))),
            )?;
        }
        Ok(())
    }

    /// Adds a part of another analysis. Parts of one of them come in their order; one of an input
    /// comes back.
    ///
    /// # Errors
    /// When it is none that an analysis gives.
    pub fn absorb(&self, part: AnalysisPart) -> Result<Option<InputPart>, ForeignPart> {
        let is_sound = match part.0 {
            PartContent::Input(input) if input.is_sound() => return Ok(Some(*input)),
            PartContent::Input(_) => false,
            PartContent::Sums(mut totals, timeline) => {
                let is_sound = totals.is_sound() && lock(&self.timeline).absorb(&timeline);
                if is_sound {
                    self.totals().take(&mut totals);
                }
                is_sound
            }
            PartContent::Tally(number, first, agents) => self.absorb_tally(number, first, agents),
            PartContent::Values(number, values) => self.tally_at(number).is_some_and(|tally| tally.absorb_values(&values)),
        };
        if is_sound { Ok(None) } else { Err(ForeignPart) }
    }

    fn absorb_tally(&self, number: u8, mut first: TallyPart, agents: Vec<Agent>) -> bool {
        if self.is_of_agents(number) {
            let numbers = agents.into_iter().map(|agent| self.agents.number_of(agent));
            if !first.renumber(numbers.collect()) {
                return false;
            }
        }
        self.tally_at(number).is_some_and(|tally| tally.absorb(first))
    }

    /// The agents that the classes of a part stand for.
    fn agents_of(&self, part: &TallyPart) -> Vec<Agent> {
        part.classes().map(|class| self.agents.agent(class).unwrap_or_default()).collect()
    }

    /// All tallies, those of sites last. A part has the number of its own.
    fn all_tallies(&self) -> impl Iterator<Item = &FieldTally> {
        self.tallies.iter().map(|(_, tally)| tally).chain(std::iter::once(&self.sites))
    }

    fn tally_at(&self, number: u8) -> Option<&FieldTally> {
        self.all_tallies().nth(number.into())
    }

    fn is_of_agents(&self, number: u8) -> bool {
        self.tallies.get(usize::from(number)).is_some_and(|(field, _)| *field == Field::Agent)
    }
}
