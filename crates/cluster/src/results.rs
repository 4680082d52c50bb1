//! Results of tasks, for other executors and for clients.

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest, PollInfo, SchemaResult, Ticket,
};
use ballista_core::serde::decode_protobuf;
use ballista_core::serde::scheduler::Action as FetchAction;
use ballista_executor::flight_service::BallistaFlightService;
use tonic::{Request, Response, Status, Streaming};

/// True if a text may be the name of a job: a path is made of it.
pub(crate) fn is_job(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// The engine's service of results, which makes a path of whatever it is sent as a job's name.
pub(crate) struct JobResults(BallistaFlightService);

impl JobResults {
    pub(crate) fn new(folder: String) -> Self {
        Self(BallistaFlightService::new(folder))
    }
}

/// Refuses what asks for the rows of no job.
fn check(bytes: &[u8]) -> Result<(), Status> {
    let FetchAction::FetchPartition { job_id, .. } =
        decode_protobuf(bytes).map_err(|error| Status::invalid_argument(error.to_string()))?;
    if is_job(job_id.as_str()) { Ok(()) } else { Err(Status::invalid_argument("no job has such a name")) }
}

fn unused<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("an executor gives results, and nothing else"))
}

#[tonic::async_trait]
impl FlightService for JobResults {
    type DoActionStream = <BallistaFlightService as FlightService>::DoActionStream;
    type DoExchangeStream = <BallistaFlightService as FlightService>::DoExchangeStream;
    type DoGetStream = <BallistaFlightService as FlightService>::DoGetStream;
    type DoPutStream = <BallistaFlightService as FlightService>::DoPutStream;
    type HandshakeStream = <BallistaFlightService as FlightService>::HandshakeStream;
    type ListActionsStream = <BallistaFlightService as FlightService>::ListActionsStream;
    type ListFlightsStream = <BallistaFlightService as FlightService>::ListFlightsStream;

    async fn do_get(&self, request: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        check(&request.get_ref().ticket)?;
        self.0.do_get(request).await
    }

    async fn do_action(&self, request: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        check(&request.get_ref().body)?;
        self.0.do_action(request).await
    }

    async fn handshake(&self, _: Request<Streaming<HandshakeRequest>>) -> Result<Response<Self::HandshakeStream>, Status> {
        unused()
    }

    async fn list_flights(&self, _: Request<Criteria>) -> Result<Response<Self::ListFlightsStream>, Status> {
        unused()
    }

    async fn get_flight_info(&self, _: Request<FlightDescriptor>) -> Result<Response<FlightInfo>, Status> {
        unused()
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Result<Response<PollInfo>, Status> {
        unused()
    }

    async fn get_schema(&self, _: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        unused()
    }

    async fn do_put(&self, _: Request<Streaming<FlightData>>) -> Result<Response<Self::DoPutStream>, Status> {
        unused()
    }

    async fn do_exchange(&self, _: Request<Streaming<FlightData>>) -> Result<Response<Self::DoExchangeStream>, Status> {
        unused()
    }

    async fn list_actions(&self, _: Request<Empty>) -> Result<Response<Self::ListActionsStream>, Status> {
        unused()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ballista_core::serde::protobuf;
    use prost::Message;

    /// No name leads out of the folder of results.
    #[tokio::test]
    async fn results_are_those_of_jobs() {
        let results = JobResults::new("/nowhere".to_owned());
        for job in ["/etc", "../secret", "a/b", "", ".", "..", "a\0b", "%2e"] {
            let fetch = protobuf::FetchPartition { job_id: job.to_owned(), ..protobuf::FetchPartition::default() };
            let action = protobuf::Action {
                action_type: Some(protobuf::action::ActionType::FetchPartition(fetch)),
                ..protobuf::Action::default()
            };
            let bytes = action.encode_to_vec();
            let asked = results.do_get(Request::new(Ticket { ticket: bytes.clone().into() })).await;
            let Err(refused) = asked else { panic!("{job}: it was answered") };
            assert!(refused.message().contains("no job"), "{job}: {refused}");
            let action = Action { r#type: "IO_BLOCK_TRANSPORT".to_owned(), body: bytes.into() };
            let Err(refused) = results.do_action(Request::new(action)).await else { panic!("{job}: it was answered") };
            assert!(refused.message().contains("no job"), "{job}: {refused}");
        }
        let Err(refused) = results.do_get(Request::new(Ticket { ticket: b"\xff\xff".to_vec().into() })).await else {
            panic!("foreign bytes were answered")
        };
        assert_eq!(refused.code(), tonic::Code::InvalidArgument);
    }
}
