//! The thread that asks questions, so that keys never wait.

use super::question::{AnsweredQuestion, ScreenQuestion};
use crate::verbs::logs::explore::FormatRows;
use rorqual_pipe::{Background, Control, beside};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Poll;
use std::time::Duration;

/// Answers that may wait for the screen.
const ANSWERS: usize = 4;

/// Asks one question at a time; a newer one ends the one before.
pub(super) struct QuestionWorker {
    questions: Option<Sender<(ScreenQuestion, Control)>>,
    answers: Background<Box<AnsweredQuestion>>,
    running: Option<Control>,
}

impl QuestionWorker {
    pub(super) fn start(rows: &Arc<FormatRows>) -> Self {
        let (questions, asked) = channel();
        let rows = Arc::clone(rows);
        let answers = beside(ANSWERS, move |answers| {
            while let Some((question, control)) = newest(&asked) {
                let Some(answer) = question.ask(&rows, &control) else { continue };
                if answers.send(Box::new(AnsweredQuestion { question, answer })).is_err() {
                    break;
                }
            }
        });
        Self { questions: Some(questions), answers, running: None }
    }

    /// Asks, in place of any question before.
    pub(super) fn ask(&mut self, question: ScreenQuestion) {
        self.cancel();
        let control = Control::default();
        self.running = Some(control.clone());
        if let Some(questions) = &self.questions {
            // Without the thread `answer` says so.
            drop(questions.send((question, control)));
        }
    }

    pub(super) fn cancel(&mut self) {
        self.running.take().iter().for_each(Control::stop);
    }

    /// An answer that is there by now.
    pub(super) fn answer(&mut self) -> Option<Box<AnsweredQuestion>> {
        match self.answers.wait(Duration::ZERO) {
            Poll::Ready(answer) => answer,
            Poll::Pending => None,
        }
    }
}

impl Drop for QuestionWorker {
    fn drop(&mut self) {
        self.cancel();
        // The thread ends, and is waited for.
        self.questions = None;
    }
}

fn newest(asked: &Receiver<(ScreenQuestion, Control)>) -> Option<(ScreenQuestion, Control)> {
    let first = asked.recv().ok()?;
    Some(asked.try_iter().last().unwrap_or(first))
}
