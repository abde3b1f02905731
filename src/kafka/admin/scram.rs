//! Users with passwords for SCRAM (KIP-554).

use bytes::Bytes;
use kafka_protocol::messages::AlterUserScramCredentialsRequest;
use kafka_protocol::messages::alter_user_scram_credentials_request::ScramCredentialUpsertion;
use kafka_protocol::protocol::StrBytes;

use super::{Admin, AdminError, ErrorCode, Failure, is_passing};
use crate::kafka::net::security::{Credentials, ScramVerifier};

/// Kafka's name of the request.
const ASKED: &str = "AlterUserScramCredentials";

impl Admin {
    /// Makes a user of SCRAM, or gives it another password. What travels is not the password but what it can be checked by.
    ///
    /// # Errors
    /// Nobody carried it out in time, or the mechanism is not one of SCRAM.
    pub async fn enrol(&self, credentials: &Credentials) -> Result<(), AdminError> {
        let verifier = ScramVerifier::of(credentials).map_err(AdminError::Scram)?;
        let upsertion = ScramCredentialUpsertion::default()
            .with_name(StrBytes::from_string(credentials.user.clone()))
            .with_mechanism(verifier.mechanism)
            .with_iterations(verifier.iterations)
            .with_salt(Bytes::from(verifier.salt))
            .with_salted_password(Bytes::from(verifier.salted_password));
        let request = AlterUserScramCredentialsRequest::default().with_upsertions(vec![upsertion]);
        self.ask_any(&request, |answer| match answer.results.first().map(|result| ErrorCode::from_wire(result.error_code)) {
            Some(None) => Ok(()),
            Some(Some(code)) => {
                let message = answer.results[0].error_message.as_ref().map(ToString::to_string);
                let error = AdminError::Refused { asked: ASKED, code, message };
                Err(if is_passing(code) { Failure::Again(error) } else { Failure::Final(error) })
            }
            None => Err(Failure::Again(AdminError::Incomplete { asked: ASKED, missing: "user" })),
        })
        .await
    }
}
