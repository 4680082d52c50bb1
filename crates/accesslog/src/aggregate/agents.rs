//! Classes of user agents: browser, operating system, bot.

use crate::agent::{Agent, UNKNOWN, classify};
use crate::aggregate::heavy_hitters::HitsAndBytes;
use crate::aggregate::lock;
use std::collections::HashMap;
use std::sync::Mutex;

/// Combinations that get a number of their own. Bots may name themselves, so a log could hold any
/// number of them.
const CLASSES_MAX: usize = 4096;

/// The combinations seen, each with a number.
#[derive(Debug, Default)]
pub(crate) struct AgentClasses {
    numbers: Mutex<AgentNumbers>,
}

#[derive(Debug, Default)]
struct AgentNumbers {
    of: HashMap<Agent, u32>,
    agents: Vec<Agent>,
}

/// Totals by name.
#[derive(Debug, Default)]
pub(crate) struct ClassTotals {
    pub(crate) browsers: HashMap<String, HitsAndBytes>,
    pub(crate) systems: HashMap<String, HitsAndBytes>,
    pub(crate) bots: HashMap<String, HitsAndBytes>,
}

impl AgentClasses {
    /// The number of the class that `agent` belongs to.
    pub(crate) fn class_of(&self, agent: &[u8]) -> u32 {
        self.number_of(classify(agent))
    }

    /// The class of a number.
    pub(crate) fn agent(&self, number: u32) -> Option<Agent> {
        lock(&self.numbers).agents.get(number as usize).cloned()
    }

    /// The number of a class.
    pub(crate) fn number_of(&self, mut agent: Agent) -> u32 {
        let mut numbers = lock(&self.numbers);
        if numbers.agents.len() >= CLASSES_MAX && !numbers.of.contains_key(&agent) {
            agent = Agent { browser: UNKNOWN.into(), os: UNKNOWN.into(), bot: agent.bot.map(|_| "(other bots)".into()) };
        }
        if let Some(number) = numbers.of.get(&agent) {
            return *number;
        }
        let number = numbers.agents.len() as u32;
        numbers.agents.push(agent.clone());
        numbers.of.insert(agent, number);
        number
    }

    /// Sums by browser, by system and by bot.
    pub(crate) fn totals(&self, classes: &HashMap<u32, HitsAndBytes>) -> ClassTotals {
        let numbers = lock(&self.numbers);
        let mut totals = ClassTotals::default();
        for (&class, &amount) in classes {
            let Some(agent) = numbers.agents.get(class as usize) else { continue };
            let add = |sums: &mut HashMap<String, HitsAndBytes>, name: &str| {
                sums.entry(name.to_owned()).or_default().add(amount);
            };
            match &agent.bot {
                Some(bot) => add(&mut totals.bots, bot),
                None => {
                    add(&mut totals.browsers, &agent.browser);
                    add(&mut totals.systems, &agent.os);
                }
            }
        }
        totals
    }
}
