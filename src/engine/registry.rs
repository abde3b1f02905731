//! The one place that knows which engines this build has.

use std::sync::Arc;

use crate::engine::java::JavaEngine;
use crate::engine::native::NativeEngine;
use crate::engine::{Engine, EngineError};
use crate::plan::model::EngineKind;

/// The engine of a kind.
///
/// # Errors
/// [`EngineError::NotAvailable`] if this build does not have it; it says how to get one that does.
pub fn engine(kind: EngineKind) -> Result<Arc<dyn Engine>, EngineError> {
    match kind {
        EngineKind::Native => Ok(Arc::new(NativeEngine)),
        #[cfg(feature = "librdkafka")]
        EngineKind::Librdkafka => Ok(Arc::new(crate::engine::librdkafka::LibrdkafkaEngine)),
        #[cfg(not(feature = "librdkafka"))]
        EngineKind::Librdkafka => Err(EngineError::NotAvailable {
            engine: kind.name(),
            hint: "this chaos was built without librdkafka: cargo build --release --features librdkafka",
        }),
        EngineKind::Java => Ok(Arc::new(JavaEngine::default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_is_not_there_says_what_to_do() {
        assert!(engine(EngineKind::Native).is_ok() && engine(EngineKind::Java).is_ok());
        let librdkafka = engine(EngineKind::Librdkafka).map_err(|error| error.to_string());
        if cfg!(feature = "librdkafka") {
            assert!(librdkafka.is_ok());
        } else {
            let error = librdkafka.unwrap_err();
            assert!(error.starts_with("engine `librdkafka` is not available: ") && error.contains("--features librdkafka"), "{error}");
        }
    }
}
