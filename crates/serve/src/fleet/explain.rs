//! The explanation of some rows of all peers by their others.

use super::ask::{FleetQuestion, LostPeers};
use super::peer::{read, unsound};
use super::wire::{PartAsk, SelectAsk};
use crate::limits::{PEER_SELECT_BYTES_MAX, PEER_TESTS_BYTES_MAX};
use bytes::Bytes;
use rorqual_crossfilter::fleet::{ExplainMerge, ExplainStep, ExplainValues};
use rorqual_crossfilter::{Explained, View};
use serde_json::Value;
use std::collections::HashMap;

impl FleetQuestion<'_> {
    /// Explains the rows of this view that are in `select` too, without values of the fields that
    /// `except` names; and whether every value of every peer was tried.
    pub(super) async fn explained(&self, select: &View, except: &[String]) -> Result<(Explained, bool), LostPeers> {
        let filter = self.schema().written(&select.filter);
        let select = SelectAsk { from_us: select.from_us, to_us: select.to_us, filter };
        let ask = |step: ExplainStep| PartAsk::Explain { select: select.clone(), except: except.to_vec(), step };
        let values = |answer: &Bytes| {
            let values: ExplainValues = read(answer)?;
            if values.is_sound() { Ok(values) } else { Err(unsound()) }
        };
        let all = self.all();
        let parts = self.parts(&all, &[], |_| ask(ExplainStep::values(all.len())), values).await?;
        let written = [Value::from(&*select.filter), Value::from(except), self.schema().written(&self.view.filter).into()];
        let room =
            PEER_TESTS_BYTES_MAX - written.iter().map(|text| text.to_string().len()).sum::<usize>().min(PEER_SELECT_BYTES_MAX);
        let mut merge = ExplainMerge::new(self.schema(), except, room, parts);
        loop {
            let asked: Vec<(usize, ExplainStep)> = all.iter().filter_map(|at| Some((*at, merge.step(*at)?))).collect();
            if asked.is_empty() {
                break;
            }
            let peers: Vec<usize> = asked.iter().map(|(at, _)| *at).collect();
            let steps: HashMap<usize, ExplainStep> = asked.into_iter().collect();
            let answers = self.parts(&peers, &[], |at| ask(steps[&at].clone()), |answer| Ok(answer.clone())).await?;
            self.all_took(peers.into_iter().zip(answers), |at, answer| merge.take(at, answer))?;
        }
        let mut pairs = merge.pairs();
        let answers = self.answers(ask(pairs.step())).await?;
        self.all_took(answers, |_, answer| pairs.take(answer))?;
        let mut cells = pairs.cells();
        while let Some(step) = cells.step() {
            let answers = self.answers(ask(step)).await?;
            self.all_took(answers, |_, answer| cells.take(answer))?;
        }
        let mut visits = cells.visits();
        if let Some(step) = visits.step() {
            let answers = self.answers(ask(step)).await?;
            self.all_took(answers, |_, answer| visits.take(answer))?;
        }
        let is_whole = visits.is_whole();
        Ok((visits.explained(), is_whole))
    }

    /// The answers of all peers to one question.
    async fn answers(&self, ask: PartAsk) -> Result<impl Iterator<Item = (usize, Bytes)>, LostPeers> {
        let answers = self.parts(&self.all(), &[], |_| ask.clone(), |answer| Ok(answer.clone())).await?;
        Ok((0..).zip(answers))
    }

    /// Takes the answers of some peers, in which those that are none are failures.
    fn all_took(
        &self,
        answers: impl Iterator<Item = (usize, Bytes)>,
        mut take: impl FnMut(usize, &[u8]) -> bool,
    ) -> Result<(), LostPeers> {
        let lies: Vec<usize> = answers.filter_map(|(at, answer)| (!take(at, &answer)).then_some(at)).collect();
        if lies.is_empty() { Ok(()) } else { Err(lies.into_iter().map(|at| (self.roll.live[at].place, unsound())).collect()) }
    }
}
