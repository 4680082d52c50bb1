//! Our scans and functions as bytes: plans go from the client to the scheduler, and their parts
//! from there to the executors.
//!
//! The engine's codec has no scans of ours, drops the tags of objects and what opens a file. All
//! that is in the head of a [`ScanMessage`], with the version of the program: another one is
//! refused before it reads anything.

use crate::files::ClusterFiles;
use crate::report::LogPartsExec;
use crate::results::is_job;
use crate::tasks::marked;
use crate::version::{VERSION, check_plan};
use ballista_core::execution_plans::ShuffleReaderExec;
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, exec_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::from_proto::{parse_protobuf_file_scan_config, parse_table_schema_from_proto};
use datafusion_proto::physical_plan::to_proto::serialize_file_scan_config;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension};
use datafusion_proto::protobuf::{FileScanExecConf, PhysicalExprNode};
use prost::Message;
use rorqual_accesslog::LogVariable;
use rorqual_accesslog::format::LogFormat;
use rorqual_columnar::csv::{Dialect, QuoteBasis};
use rorqual_columnar::{RecordFormat, ValueRules, json};
use rorqual_pipe::FileVersion;
use rorqual_query::{
    BadRecordFlag, OpenMode, RecordSource, ScanContext, ScanSpec, YieldingExec, checked_of_parts, checked_parts,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Start of a scan's bytes, by which they are known from a node of the engine.
const MAGIC: &[u8] = b"rorqual scan\0";

/// Start of the bytes of a report on logs.
const REPORT: &[u8] = b"rorqual report\0";

/// Encoding of a [`YieldingExec`], which has no settings.
const YIELDING: &[u8] = b"rorqual yielding\0";

/// Start of the bytes of a checked operator.
const CHECKED: &[u8] = b"rorqual checked\0";

/// A scan: its head as JSON, the files with their ranges and columns, and the engine's filter.
#[derive(Clone, PartialEq, Message)]
struct ScanMessage {
    #[prost(string, tag = "1")]
    head: String,
    #[prost(message, optional, tag = "2")]
    scan: Option<FileScanExecConf>,
    #[prost(message, optional, tag = "3")]
    filter: Option<PhysicalExprNode>,
}

/// Head of a scan.
#[derive(Debug, Serialize, Deserialize)]
struct ScanHeader {
    version: String,
    format: FormatMessage,
    span_us: Option<(i64, i64)>,
    batch_rows: usize,
    /// The flag of bad records: `true` leaves them out.
    skips_bad: Option<bool>,
    places: Vec<PlaceMessage>,
    /// The place of each file of each group, in order.
    groups: Vec<Vec<usize>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum PlaceMessage {
    Local { path: String, is_plain: bool, version: Option<String> },
    Object { name: String, e_tag: Option<String> },
}

#[derive(Debug, Serialize, Deserialize)]
struct RulesMessage {
    exact_numbers: bool,
    nulls: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
enum LayoutMessage {
    Lines,
    Documents,
    Array,
    Rows(Vec<String>),
    Members(Vec<String>),
}

#[derive(Debug, Serialize, Deserialize)]
enum FormatMessage {
    /// A text that makes it, and the variables that its lines were found to have, by name and kind.
    Log(String, Vec<(String, String)>),
    Json(LayoutMessage, RulesMessage),
    Csv {
        delimiter: u8,
        quote: Option<u8>,
        basis: BasisMessage,
        says_delimiter: bool,
        header: bool,
        names: Vec<String>,
        rules: RulesMessage,
    },
}

/// The reason for which a CSV has that quote.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum BasisMessage {
    Given,
    Seen,
    Assumed,
}

fn basis_out(basis: QuoteBasis) -> BasisMessage {
    match basis {
        QuoteBasis::Given => BasisMessage::Given,
        QuoteBasis::Seen => BasisMessage::Seen,
        QuoteBasis::Assumed => BasisMessage::Assumed,
    }
}

fn basis_in(basis: BasisMessage) -> QuoteBasis {
    match basis {
        BasisMessage::Given => QuoteBasis::Given,
        BasisMessage::Seen => QuoteBasis::Seen,
        BasisMessage::Assumed => QuoteBasis::Assumed,
    }
}

fn rules_out(rules: &ValueRules) -> RulesMessage {
    RulesMessage { exact_numbers: rules.exact_numbers, nulls: rules.nulls.clone() }
}

fn rules_in(rules: RulesMessage) -> ValueRules {
    ValueRules { exact_numbers: rules.exact_numbers, nulls: rules.nulls }
}

fn format_out(format: &RecordFormat) -> Result<FormatMessage> {
    Ok(match format {
        RecordFormat::Log(log) => {
            let source = log_source(log)?;
            FormatMessage::Log(source, log.variables().iter().map(LogVariable::written).collect())
        }
        RecordFormat::Json(layout, rules) => {
            let layout = match layout {
                json::Layout::Lines => LayoutMessage::Lines,
                json::Layout::Documents => LayoutMessage::Documents,
                json::Layout::Array => LayoutMessage::Array,
                json::Layout::Rows(keys) => LayoutMessage::Rows(keys.clone()),
                json::Layout::Members(keys) => LayoutMessage::Members(keys.clone()),
            };
            FormatMessage::Json(layout, rules_out(rules))
        }
        RecordFormat::Csv(csv) => FormatMessage::Csv {
            delimiter: csv.delimiter,
            quote: csv.quote,
            basis: basis_out(csv.basis),
            says_delimiter: csv.says_delimiter,
            header: csv.header,
            names: csv.names.clone(),
            rules: rules_out(&csv.rules),
        },
    })
}

/// A text that gives the same format again: its name with its prefixes, or its string.
fn log_source(log: &LogFormat) -> Result<String> {
    let variables = || log.variables().to_vec();
    let same = |text: &&str| LogFormat::parse(text).is_ok_and(|parsed| parts(&parsed.with_variables(variables())) == parts(log));
    let found = [log.source(), log.name()].into_iter().find(same);
    found.map(str::to_owned).ok_or_else(|| {
        let name = log.name();
        exec_datafusion_err!("the log format '{name}' can't be sent to other machines; give it by --format")
    })
}

/// All that a format is made of, in order: its maps are written in any. Its name does not matter,
/// nor the fields that a log of JSON was found to have: the columns come with the scan.
fn parts(log: &LogFormat) -> Vec<String> {
    let text = format!("{log:?}");
    let parts = text.split([',', '{', '}', '[', ']', '(', ')']).map(|part| part.trim().to_owned());
    let mut parts: Vec<String> = parts.filter(|part| !part.starts_with("name: ") && !part.starts_with("fields: ")).collect();
    parts.sort_unstable();
    parts
}

fn format_in(format: FormatMessage) -> Result<RecordFormat> {
    Ok(match format {
        FormatMessage::Log(source, variables) => {
            let log = LogFormat::parse(&source).map_err(|error| exec_datafusion_err!("{error}"))?;
            let variables: Option<Vec<LogVariable>> =
                variables.iter().map(|(name, kind)| LogVariable::read(name, kind)).collect();
            let Some(variables) = variables else { return exec_err!("a log with variables of an unknown kind") };
            RecordFormat::Log(log.with_variables(variables))
        }
        FormatMessage::Json(layout, rules) => {
            let layout = match layout {
                LayoutMessage::Lines => json::Layout::Lines,
                LayoutMessage::Documents => json::Layout::Documents,
                LayoutMessage::Array => json::Layout::Array,
                LayoutMessage::Rows(keys) => json::Layout::Rows(keys),
                LayoutMessage::Members(keys) => json::Layout::Members(keys),
            };
            RecordFormat::Json(layout, rules_in(rules))
        }
        FormatMessage::Csv { delimiter, quote, basis, says_delimiter, header, names, rules } => {
            let (basis, rules) = (basis_in(basis), rules_in(rules));
            RecordFormat::Csv(Dialect { delimiter, quote, basis, says_delimiter, header, names, rules })
        }
    })
}

/// Scans and functions of ours as bytes; everything else by the engine's codec.
#[derive(Debug)]
pub(crate) struct ScanCodec {
    context: Arc<ScanContext>,
    files: ClusterFiles,
    engine: BallistaPhysicalExtensionCodec,
}

impl ScanCodec {
    /// The codec of a process that reads `files` only.
    pub(crate) fn new(context: &Arc<ScanContext>, files: ClusterFiles) -> Self {
        Self { context: Arc::clone(context), files, engine: BallistaPhysicalExtensionCodec::default() }
    }

    fn scan_out(
        &self,
        config: &FileScanConfig,
        source: &RecordSource,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<ScanMessage> {
        let spec = source.spec();
        let (places, groups) = places_out(config)?;
        let header = ScanHeader {
            version: VERSION.to_owned(),
            format: format_out(&spec.format)?,
            span_us: spec.span_us.as_ref().map(|span| (*span.start(), *span.end())),
            batch_rows: spec.batch_rows,
            skips_bad: spec.bad.map(|bad| bad == BadRecordFlag::Skip),
            places,
            groups,
        };
        let head = serde_json::to_string(&header).map_err(|error| exec_datafusion_err!("{error}"))?;
        let filter = source.engine_filter().map(|filter| converter.physical_expr_to_proto(filter, self)).transpose()?;
        Ok(ScanMessage { head, scan: Some(serialize_file_scan_config(config, self, converter)?), filter })
    }

    fn scan_in(
        &self,
        message: &ScanMessage,
        ctx: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let header: ScanHeader =
            serde_json::from_str(&message.head).map_err(|error| exec_datafusion_err!("a scan of another version: {error}"))?;
        check_plan(&header.version)?;
        let Some(scan) = &message.scan else { return exec_err!("a scan without files") };
        let within = PhysicalPlanDecodeContext::new(ctx, self);
        let table = parse_table_schema_from_proto(scan)?;
        let filter = message.filter.as_ref().map(|filter| converter.proto_to_physical_expr(filter, table.file_schema(), &within));
        let spec = ScanSpec {
            format: format_in(header.format)?,
            span_us: header.span_us.map(|(start, end)| start..=end),
            batch_rows: header.batch_rows,
            bad: header.skips_bad.map(|skips| if skips { BadRecordFlag::Skip } else { BadRecordFlag::Error }),
        };
        let source = RecordSource::of_task(spec, table.file_schema(), filter.transpose()?, &self.context);
        let config = parse_protobuf_file_scan_config(scan, &within, converter, Arc::new(source))?;
        let groups = self.groups_in(&config, &header.places, &header.groups)?;
        Ok(DataSourceExec::from_data_source(FileScanConfigBuilder::from(config).with_file_groups(groups).build()))
    }

    fn groups_in(&self, config: &FileScanConfig, places: &[PlaceMessage], groups: &[Vec<usize>]) -> Result<Vec<FileGroup>> {
        let opened = |(number, file): (&usize, &PartitionedFile)| match places.get(*number) {
            Some(place) => self.file_in(file, place),
            None => exec_err!("a scan without the place of a file"),
        };
        let lengths = |groups: &mut dyn Iterator<Item = usize>| groups.collect::<Vec<usize>>();
        if lengths(&mut groups.iter().map(Vec::len)) != lengths(&mut config.file_groups.iter().map(FileGroup::len)) {
            return exec_err!("a scan with the places of other files");
        }
        let group = |(numbers, group): (&Vec<usize>, &FileGroup)| {
            let files: Result<Vec<PartitionedFile>> = numbers.iter().zip(group.files()).map(opened).collect();
            files.map(FileGroup::new)
        };
        groups.iter().zip(&config.file_groups).map(group).collect()
    }

    fn file_in(&self, file: &PartitionedFile, place: &PlaceMessage) -> Result<PartitionedFile> {
        let mut file = file.clone();
        let mode = match place {
            PlaceMessage::Local { path, is_plain, version } => {
                let path = self.files.checked(path.as_ref())?;
                let name = path.display().to_string();
                let version = version.as_deref().map(|text| FileVersion::of_text(text, &name)).transpose();
                let version = version.map_err(|error| DataFusionError::External(Box::new(error)))?;
                OpenMode::Local { path, is_plain: *is_plain, version }
            }
            PlaceMessage::Object { name, e_tag } => {
                file.object_meta.e_tag.clone_from(e_tag);
                OpenMode::Object { name: name.clone() }
            }
        };
        Ok(file.with_extension(mode))
    }
}

/// The places of a scan's files, each once, and the number of the place of each file.
fn places_out(config: &FileScanConfig) -> Result<(Vec<PlaceMessage>, Vec<Vec<usize>>)> {
    let mut places: Vec<PlaceMessage> = Vec::new();
    let mut number = |file: &PartitionedFile| {
        let place = place_out(file)?;
        // Stretches of a file follow one another.
        if places.last() != Some(&place) {
            places.push(place);
        }
        Ok(places.len() - 1)
    };
    let groups = config.file_groups.iter().map(|group| group.files().iter().map(&mut number).collect());
    let groups = groups.collect::<Result<Vec<Vec<usize>>>>()?;
    Ok((places, groups))
}

fn place_out(file: &PartitionedFile) -> Result<PlaceMessage> {
    match file.extension::<OpenMode>() {
        Some(OpenMode::Local { path, is_plain, version }) => {
            let shown = path.display();
            let path = std::path::absolute(path).map_err(|cause| exec_datafusion_err!("{shown}: {cause}"))?;
            let Some(text) = path.to_str() else {
                return exec_err!("{shown}: a path that is no UTF-8 can't be sent to other machines");
            };
            let version = version.as_ref().map(FileVersion::to_text);
            Ok(PlaceMessage::Local { path: text.to_owned(), is_plain: *is_plain, version })
        }
        Some(OpenMode::Object { name }) => Ok(PlaceMessage::Object { name: name.clone(), e_tag: file.object_meta.e_tag.clone() }),
        Some(OpenMode::Once(_)) => {
            exec_err!("standard input and pipes can be read by this process only: put it into a file that all machines have")
        }
        None => exec_err!("{}: a scan without a place", file.object_meta.location),
    }
}

/// True if a node reads rows of something that is no job: the engine makes a path of its name.
fn reads_elsewhere(node: &Arc<dyn ExecutionPlan>) -> bool {
    let Some(reader) = node.downcast_ref::<ShuffleReaderExec>() else { return false };
    reader.partition.iter().flatten().any(|place| !is_job(place.partition_id.job_id.as_str()))
}

impl PhysicalExtensionCodec for ScanCodec {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        if let Some(report) = node.downcast_ref::<LogPartsExec>() {
            buf.extend_from_slice(REPORT);
            buf.extend_from_slice(&report.to_bytes()?);
            return Ok(());
        }
        if node.is::<YieldingExec>() {
            buf.extend_from_slice(YIELDING);
            return Ok(());
        }
        let scan = node.downcast_ref::<DataSourceExec>().and_then(|exec| exec.data_source().downcast_ref::<FileScanConfig>());
        let Some((config, source)) = scan.and_then(|config| Some((config, config.file_source().downcast_ref::<RecordSource>()?)))
        else {
            if node.name() == "StreamingTableExec" {
                return exec_err!(
                    "Arrow files, Parquet with large pages and tables of the engine are read by one process only: `rorqual convert` \
                     makes Parquet of files"
                );
            }
            return self.engine.try_encode(node, buf, converter);
        };
        buf.extend_from_slice(MAGIC);
        let message = self.scan_out(config, source, converter).map_err(|error| marked(&error.message()))?;
        message.encode(buf).map_err(|error| exec_datafusion_err!("{error}"))
    }

    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if let Some(report) = buf.strip_prefix(REPORT) {
            let report = LogPartsExec::of_bytes(report, inputs, &self.context, self.files.clone());
            return report.map(|report| Arc::new(report) as _).map_err(|error| marked(&error.message()));
        }
        if buf == YIELDING {
            let [input] = inputs else { return exec_err!("a node that yields without its input") };
            return Ok(Arc::new(YieldingExec::new(Arc::clone(input))));
        }
        let Some(scan) = buf.strip_prefix(MAGIC) else {
            let node = self.engine.try_decode(buf, inputs, ctx, converter)?;
            return if reads_elsewhere(&node) { exec_err!("a plan that reads rows of no job") } else { Ok(node) };
        };
        let message = ScanMessage::decode(scan).map_err(|error| exec_datafusion_err!("a scan that can't be read: {error}"))?;
        self.scan_in(&message, ctx, converter).map_err(|error| marked(&error.message()))
    }

    fn try_encode_udf(&self, node: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        if let Some((signs, kind)) = checked_parts(node) {
            buf.extend_from_slice(CHECKED);
            buf.extend_from_slice(format!("{signs} {kind}").as_bytes());
        }
        Ok(())
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        let parts = buf.strip_prefix(CHECKED).and_then(|text| std::str::from_utf8(text).ok()?.split_once(' '));
        let known = parts.and_then(|(signs, kind)| checked_of_parts(signs, &kind.parse::<DataType>().ok()?));
        known.map(Arc::new).ok_or_else(|| exec_datafusion_err!("there is no function {name} here"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rorqual_query::QueryShares;
    use rorqual_shell::args::ProcessArgs;

    /// Each format is the same after its way through JSON.
    #[test]
    fn formats_arrive_as_they_were() {
        let rules = ValueRules { exact_numbers: true, nulls: vec!["NA".to_owned()] };
        let keys = || vec!["data".to_owned(), "items".to_owned()];
        let layouts = [
            json::Layout::Lines,
            json::Layout::Documents,
            json::Layout::Array,
            json::Layout::Rows(keys()),
            json::Layout::Members(keys()),
        ];
        let csv = Dialect {
            delimiter: b';',
            quote: Some(b'"'),
            basis: QuoteBasis::Assumed,
            says_delimiter: true,
            header: false,
            names: keys(),
            rules: rules.clone(),
        };
        let logs = [
            "combined",
            "syslog+combined",
            "syslog+json",
            "docker+combined",
            "json",
            "ltsv",
            "aws_alb",
            "$remote_addr - [$time_local] \"$request\" $status $my_own",
            "%h %l %u %t \"%r\" %>s %b %D",
            "#Fields: date time c-ip cs-method cs-uri-stem sc-status",
        ];
        let logs = logs.map(|text| RecordFormat::Log(LogFormat::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))));
        let json = layouts.map(|layout| RecordFormat::Json(layout, rules.clone()));
        for format in logs.into_iter().chain(json).chain([RecordFormat::Csv(csv)]) {
            let sent = serde_json::to_string(&format_out(&format).expect("it can be sent")).expect("it is JSON");
            let arrived = format_in(serde_json::from_str(&sent).expect("it is JSON")).expect("it is a format");
            match (&arrived, &format) {
                (RecordFormat::Log(arrived), RecordFormat::Log(log)) => assert_eq!(parts(arrived), parts(log)),
                _ => assert_eq!(format!("{arrived:?}"), format!("{format:?}")),
            }
        }
    }

    #[test]
    fn checked_operators_arrive_as_they_were() {
        let codec = codec();
        let function = checked_of_parts("+-*", &DataType::UInt8).expect("a function");
        let mut bytes = Vec::new();
        codec.try_encode_udf(&function, &mut bytes).expect("it can be sent");
        let arrived = codec.try_decode_udf(function.name(), &bytes).expect("it is known");
        assert_eq!((arrived.name(), checked_parts(&arrived)), (function.name(), checked_parts(&function)));
        for foreign in [&b""[..], b"rorqual checked\0", b"rorqual checked\0+ Utf8", b"rorqual checked\0/ Int64", b"\xff\xff"] {
            assert!(codec.try_decode_udf("f", foreign).is_err(), "{foreign:?}");
        }
    }

    /// Bytes that are no scan are an error, whatever they are.
    #[test]
    fn foreign_bytes_are_an_error() {
        let codec = codec();
        let context = TaskContext::default();
        let converter = datafusion_proto::physical_plan::DefaultPhysicalProtoConverter {};
        for rest in [&b""[..], b"\x0a\x02{}", b"\xff\xff\xff\xff", b"\x0a\xff\xff\xff\x7f"] {
            for magic in [MAGIC, REPORT, YIELDING] {
                let bytes = [magic, rest].concat();
                assert!(codec.try_decode(&bytes, &[], &context, &converter).is_err(), "{rest:?}");
            }
        }
        assert!(codec.try_decode(b"\xff\xff", &[], &context, &converter).is_err());
    }

    /// The codec of an executor that reads no file.
    fn codec() -> ScanCodec {
        let process = ProcessArgs { memory: None, threads: None, stats: false };
        let shares = QueryShares::of_process(&process, None).expect("the default memory is enough");
        ScanCodec::new(&ScanContext::of_tasks(shares, 0), ClusterFiles::Below(None))
    }
}
