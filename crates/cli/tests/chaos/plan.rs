//! Faults of the server itself, with their times: the same for the same seed.

use rorqual_testkit::generate::Rng;
use std::time::Duration;

/// Part of the time for the first life: its memory is watched.
const FIRST_LIFE_SHARE: f64 = 0.55;

/// Part of the first life before it is looked at for the first time.
const WARM_UP_SHARE: f64 = 0.4;
const WARM_UP_MAX: Duration = Duration::from_secs(120);

/// Between two looks at the server at rest.
const REST_EVERY: (f64, f64) = (1.9, 12.0);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    Pause,
    FullTemp,
    FullStore,
    FullState,
    FewDescriptors,
    Jump,
}

impl Trouble {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pause => "SIGSTOP",
            Self::FullTemp => "full temp disk",
            Self::FullStore => "full store disk",
            Self::FullState => "full state disk",
            Self::FewDescriptors => "few descriptors",
            Self::Jump => "clock jumps",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Event {
    /// Lasts for so many seconds.
    Trouble(Trouble, f64),
    /// All clients wait, and the server is looked at.
    Rest,
    Kill,
    Terminate,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) at: Duration,
    pub(crate) event: Event,
    /// Of the life that an end is followed by: whether its clock can be made to jump.
    pub(crate) jumping: bool,
}

impl Step {
    /// True if a life ends.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self.event, Event::Kill | Event::Terminate)
    }
}

/// All steps for so long, of the faults that can be done here.
pub(crate) fn plan(seed: u64, time: Duration, able: &[Trouble], fast: bool) -> Vec<Step> {
    let mut random = Rng::new(seed.rotate_left(17));
    let first_life = time.as_secs_f64() * FIRST_LIFE_SHARE;
    let mut steps = first(&mut random, first_life, able, fast);
    steps.extend(later(&mut random, first_life, time.as_secs_f64(), able, fast));
    steps
}

/// A life without an end, with looks at it.
fn first(random: &mut Rng, until: f64, able: &[Trouble], fast: bool) -> Vec<Step> {
    let able: Vec<Trouble> = able.iter().copied().filter(|trouble| *trouble != Trouble::Jump).collect();
    let (mut at, mut steps) = ((until * WARM_UP_SHARE).min(WARM_UP_MAX.as_secs_f64()), Vec::new());
    let every = if fast { REST_EVERY.0 } else { REST_EVERY.1 };
    let mut turn = random.below(able.len());
    while at < until {
        steps.push(step(at, Event::Rest));
        turn += 1;
        let trouble = able[turn % able.len()];
        steps.push(step(at + every * (0.1 + 0.4 * random.fraction()), Event::Trouble(trouble, lasting(random, fast))));
        at += every;
    }
    steps.push(step(at, Event::Rest));
    steps
}

/// Short lives, two of three of which end by a kill; every other one can see the clock jump.
fn later(random: &mut Rng, from: f64, until: f64, able: &[Trouble], fast: bool) -> Vec<Step> {
    let longest = if fast { 3.0 } else { 15.0 };
    let (mut at, mut steps, mut jumping) = (from, Vec::new(), false);
    while at < until {
        jumping = !jumping && able.contains(&Trouble::Jump);
        let event = if random.below(3) == 0 { Event::Terminate } else { Event::Kill };
        steps.push(Step { at: secs(at), event, jumping });
        let life = longest * (0.2 + 0.8 * random.fraction());
        let trouble = if jumping { Trouble::Jump } else { able[random.below(able.len())] };
        // Some ends come while a trouble lasts.
        if jumping || trouble != Trouble::Jump {
            steps.push(step(at + life * 0.4, Event::Trouble(trouble, lasting(random, fast).min(life))));
        }
        at += life;
    }
    steps
}

fn lasting(random: &mut Rng, fast: bool) -> f64 {
    (if fast { 0.3 } else { 0.5 }) + random.fraction() * if fast { 0.7 } else { 3.0 }
}

fn step(at: f64, event: Event) -> Step {
    Step { at: secs(at), event, jumping: false }
}

fn secs(at: f64) -> Duration {
    Duration::from_secs_f64(at)
}
