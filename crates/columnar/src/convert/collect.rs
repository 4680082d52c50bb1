//! Collector of the workers' output, in the order of the input.

use super::{Conversion, InputSummary};
use crate::bad_records::long_offset;
use crate::decode::{BadRecord, Decode, DecodedRecords, Inferred, Notes};
use crate::setting::RECORD_MAX;
use crate::write::{BatchWriter, PreparedBatch};
use bytes::Bytes;
use rorqual_pipe::gather::{Gather, OutputFd};
use rorqual_pipe::setting::REJECTS;
use rorqual_pipe::{Chunk, Error, ErrorClass};
use std::sync::atomic::{AtomicBool, Ordering};

/// Fate of a record that is no row, or is longer than one may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBad {
    /// The first one ends the conversion.
    Error,
    /// It is left out, and counted.
    Skip,
    /// It is left out, and kept as it is, in the order of the input.
    Reject,
}

impl OnBad {
    /// The rows of a chunk; where a bad record is an error, those before the first.
    pub(super) fn decode(self, decoder: &mut dyn Decode, chunk: &Chunk) -> Result<DecodedRecords, Error> {
        let decoded = decoder.decode(chunk)?;
        match decoded.bad.first().cloned() {
            Some(first) if self == Self::Error => {
                let mut before = decoder.decode(&chunk.until((first.offset - chunk.offset) as usize))?;
                before.bad.push(first);
                Ok(before)
            }
            _ => Ok(decoded),
        }
    }
}

/// File of bad records, each with a newline at its end.
pub type Rejects = Gather<OutputFd>;

/// Output of a worker for a chunk.
pub(super) struct WorkerOutput {
    outcome: CollectOutcome,
    chunk: Chunk,
}

pub(super) enum CollectOutcome {
    Rows { prepared: Vec<PreparedBatch>, bad: Vec<BadRecord>, notes: Notes, rest: Option<usize> },
    Misfit(Inferred),
}

impl WorkerOutput {
    /// Keeps the parts of the chunk that are needed later; its buffer only with them.
    pub(super) fn new(chunk: &Chunk, outcome: CollectOutcome) -> Self {
        let (CollectOutcome::Rows { bad, .. } | CollectOutcome::Misfit(Inferred { bad, .. })) = &outcome;
        let more = matches!(outcome, CollectOutcome::Rows { rest: Some(_), .. });
        let mut chunk = chunk.clone();
        if bad.is_empty() && chunk.long_start().is_none() && !more {
            chunk.bytes = Bytes::new();
        }
        Self { outcome, chunk }
    }
}

/// Takes the workers' output, in order.
pub(super) struct Collector<'a> {
    name: String,
    writer: &'a BatchWriter,
    on_bad: OnBad,
    record_bytes_max: usize,
    /// Bytes that may be before a record and are none of it.
    separators: &'static [u8],
    /// Decodes the rest of a chunk that is too much to be decoded at once.
    decoder: Box<dyn Decode>,
    /// Tells the workers of a value without a place.
    misfit: &'a AtomicBool,
    rejects: Option<&'a mut Rejects>,
    converted: InputSummary,
    /// The over-long record that goes on.
    long: Option<LongRecord>,
}

/// An over-long record, as far as it was seen.
struct LongRecord {
    offset: u64,
    bytes: u64,
    /// Its last byte is a newline.
    newline: bool,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        (name, separators): (&str, &'static [u8]),
        conversion: &Conversion<'a>,
        decoder: Box<dyn Decode>,
        misfit: &'a AtomicBool,
        rejects: Option<&'a mut Rejects>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            writer: conversion.writer,
            on_bad: conversion.on_bad,
            record_bytes_max: conversion.scan.record_bytes_max,
            separators,
            decoder,
            misfit,
            rejects,
            converted: InputSummary::default(),
            long: None,
        }
    }

    pub(super) fn take(&mut self, made: WorkerOutput) -> Result<(), Error> {
        let WorkerOutput { outcome, chunk } = made;
        self.long_goes_on(&chunk)?;
        match outcome {
            CollectOutcome::Rows { prepared, bad, notes, rest } => {
                self.converted.notes.merge(&notes);
                if self.converted.misfit.is_none() {
                    prepared.into_iter().try_for_each(|prepared| self.writer.push(prepared))?;
                }
                self.bad(&chunk, &bad)?;
                self.rest(&chunk, rest)?;
            }
            CollectOutcome::Misfit(inferred) => {
                self.converted.notes.merge(&inferred.notes);
                self.converted.misfit.get_or_insert_default().merge(inferred.shape);
                self.bad(&chunk, &inferred.bad)?;
            }
        }
        self.long_starts(&chunk)
    }

    /// Decodes the rest of a chunk part by part, in its turn.
    fn rest(&mut self, chunk: &Chunk, mut rest: Option<usize>) -> Result<(), Error> {
        let mut start = 0;
        while let (Some(more), None) = (rest, &self.converted.misfit) {
            start += more;
            let part = chunk.from(start);
            let decoded = self.on_bad.decode(&mut *self.decoder, &part)?;
            self.converted.notes.merge(&decoded.notes);
            if let Some(shape) = decoded.misfit {
                self.misfit.store(true, Ordering::Relaxed);
                self.converted.misfit.get_or_insert_default().merge(shape);
                return Ok(());
            }
            for batch in decoded.batches {
                self.writer.push(self.writer.prepare(batch)?)?;
            }
            self.bad(&part, &decoded.bad)?;
            rest = decoded.rest;
        }
        Ok(())
    }

    /// Summary of the input, and an over-long record that its end ended.
    pub(super) fn finish(mut self) -> (InputSummary, Option<Error>) {
        let ended = self.long_ends();
        (self.converted, ended.err())
    }

    fn bad(&mut self, chunk: &Chunk, bad: &[BadRecord]) -> Result<(), Error> {
        if let (OnBad::Error, Some(first)) = (self.on_bad, bad.first()) {
            return Err(first.error(&self.name));
        }
        for record in bad {
            self.converted.bad.add(&self.name, record);
            let start = (record.offset - chunk.offset) as usize;
            let bytes = chunk.bytes.slice(start..start + record.length as usize);
            let newline = bytes.last() == Some(&b'\n');
            self.keep(bytes)?;
            if !newline {
                self.keep(Bytes::from_static(b"\n"))?;
            }
        }
        Ok(())
    }

    fn keep(&mut self, bytes: Bytes) -> Result<(), Error> {
        let Some(rejects) = &mut self.rejects else { return Ok(()) };
        let kept = rejects.push(bytes).and_then(|()| rejects.flush_shared());
        kept.map_err(|cause| Error::io(REJECTS.to_string(), "cannot write", cause))
    }

    fn long_starts(&mut self, chunk: &Chunk) -> Result<(), Error> {
        let Some(offset) = long_offset(chunk, self.separators) else { return Ok(()) };
        let head = chunk.bytes.slice((offset - chunk.offset) as usize..);
        self.long = Some(LongRecord { offset, bytes: head.len() as u64, newline: false });
        self.keep(head)
    }

    fn long_goes_on(&mut self, chunk: &Chunk) -> Result<(), Error> {
        let Some(long) = &mut self.long else { return Ok(()) };
        // A file's chunk may begin with bytes of the head.
        let overlap = (long.offset + long.bytes).saturating_sub(chunk.before_offset).min(chunk.before.len() as u64);
        let more = chunk.before.slice(overlap as usize..);
        long.bytes += more.len() as u64 + chunk.zeros;
        long.newline = more.last() == Some(&b'\n');
        let ended = long.newline || !chunk.bytes.is_empty() || (chunk.zeros == 0 && chunk.before.is_empty());
        self.keep(more)?;
        self.keep_zeros(chunk.zeros)?;
        if ended { self.long_ends() } else { Ok(()) }
    }

    fn keep_zeros(&mut self, mut count: u64) -> Result<(), Error> {
        static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
        while count > 0 && self.rejects.is_some() {
            let length = count.min(ZEROS.len() as u64);
            self.keep(Bytes::from_static(&ZEROS[..length as usize]))?;
            count -= length;
        }
        Ok(())
    }

    /// The over-long record is over.
    fn long_ends(&mut self) -> Result<(), Error> {
        let Some(LongRecord { offset, bytes, newline }) = self.long.take() else { return Ok(()) };
        if self.on_bad == OnBad::Error {
            let max = rorqual_pipe::format_size(self.record_bytes_max as u64);
            let message = format!("a record of {bytes} bytes, more than {RECORD_MAX} {max}, starts");
            return Err(Error::new(ErrorClass::Limit, &self.name, message).at(offset));
        }
        self.converted.bad.add_long(&self.name, offset, self.record_bytes_max);
        if newline { Ok(()) } else { self.keep(Bytes::from_static(b"\n")) }
    }
}
