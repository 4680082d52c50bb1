//! The version of the program, which all processes of a cluster have to share: it goes with each
//! call.

use datafusion::common::{Result, exec_err};
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

/// Version of the program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Name of the version among the metadata of a call.
const HEADER: &str = "rorqual-version";

/// Sends the version with each call.
#[derive(Debug, Clone)]
pub(crate) struct SendsVersion;

impl Interceptor for SendsVersion {
    fn call(&mut self, mut request: Request<()>) -> std::result::Result<Request<()>, Status> {
        request.metadata_mut().insert(HEADER, MetadataValue::from_static(VERSION));
        Ok(request)
    }
}

/// Refuses a plan of another version.
///
/// # Errors
/// With both versions.
pub(crate) fn check_plan(sent: &str) -> Result<()> {
    if sent == VERSION {
        return Ok(());
    }
    exec_err!("the plan is of rorqual {sent}, and this process of {VERSION}: all have to be of one version")
}

/// Refuses a call of another version.
///
/// # Errors
/// With both versions.
pub(crate) fn check_version(metadata: &MetadataMap) -> std::result::Result<(), Status> {
    let sent = metadata.get(HEADER).and_then(|value| value.to_str().ok()).unwrap_or("unknown");
    if sent == VERSION {
        return Ok(());
    }
    let text = format!("a process of rorqual {sent} asks a scheduler of {VERSION}: all processes have to be of one version");
    Err(Status::failed_precondition(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_refused_with_both_names() {
        let sent = SendsVersion.call(Request::new(())).expect("it is sent");
        assert!(check_version(sent.metadata()).is_ok());
        let mut other = MetadataMap::new();
        other.insert(HEADER, MetadataValue::from_static("0.0.1"));
        for (metadata, name) in [(other, "0.0.1"), (MetadataMap::new(), "unknown")] {
            let refused = check_version(&metadata).expect_err("it is another");
            assert!(refused.message().contains(name) && refused.message().contains(VERSION), "{}", refused.message());
        }
    }
}
