//! Addresses as a router and as a list.

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, any, on};

/// A method and an address of the server. Addresses are those of `docs/openapi.json`, where
/// `{*name}`, which takes slashes too, is `{name}`. `GET` stands for `HEAD` as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// In capitals.
    pub method: &'static str,
    /// With its parameters in braces.
    pub path: &'static str,
}

/// A router, with a list of its routes beside it: axum's own can't be listed.
pub(crate) struct RouteTable<S> {
    router: Router<S>,
    listed: Vec<Route>,
}

impl<S: Clone + Send + Sync + 'static> RouteTable<S> {
    pub(crate) fn new() -> Self {
        Self { router: Router::new(), listed: Vec::new() }
    }

    pub(crate) fn get<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(&["GET"], path, on(MethodFilter::GET, handler))
    }

    pub(crate) fn post<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(&["POST"], path, on(MethodFilter::POST, handler))
    }

    pub(crate) fn put<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(&["PUT"], path, on(MethodFilter::PUT, handler))
    }

    pub(crate) fn delete<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(&["DELETE"], path, on(MethodFilter::DELETE, handler))
    }

    /// Adds a handler that tells methods apart itself, and takes `methods`.
    pub(crate) fn any<H: Handler<T, S>, T: 'static>(self, methods: &[&'static str], path: &'static str, handler: H) -> Self {
        self.add(methods, path, any(handler))
    }

    fn add(mut self, methods: &[&'static str], path: &'static str, handlers: MethodRouter<S>) -> Self {
        self.listed.extend(methods.iter().map(|method| Route { method, path }));
        self.router = self.router.route(path, handlers);
        self
    }

    pub(crate) fn listed(self) -> Vec<Route> {
        self.listed
    }

    pub(crate) fn into_router(self, state: S) -> Router {
        self.router.with_state(state)
    }
}
