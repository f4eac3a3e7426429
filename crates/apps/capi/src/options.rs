//! Options of an endpoint.

use crate::failure::Failure;
use headway_net::{DtlsOptions, Fingerprint, Identity, Options, SecureError, Trust};

/// Options of an endpoint and its connections. One thread at a time may use them.
#[derive(Debug)]
pub struct HeadwayOptions {
    pub(crate) options: Options,
}

impl HeadwayOptions {
    /// Creates the options of a server, for clients with any identity.
    pub(crate) fn server() -> Result<Self, Failure> {
        Ok(Self { options: Options::server()? })
    }

    /// Creates the options of a client, which trusts no server yet.
    pub(crate) fn client() -> Result<Self, Failure> {
        Ok(Self { options: Options::client(Trust::Fingerprints(Vec::new()))? })
    }

    pub(crate) fn insecure() -> Self {
        Self { options: Options::insecure() }
    }

    pub(crate) fn set_controller(&mut self, name: &str) -> Result<(), Failure> {
        self.options = self.options.clone().with_controller(name)?;
        Ok(())
    }

    /// Selects the send queue. The limit, and whether lost datagrams are sent again, do not change.
    pub(crate) fn set_send_queue(&mut self, name: &str) -> Result<(), Failure> {
        self.options = self.options.clone().with_queue(name)?;
        Ok(())
    }

    pub(crate) fn set_identity(&mut self, pem: &str) -> Result<(), Failure> {
        let wrong = |error: SecureError| Failure::Argument { name: "pem", message: error.to_string() };
        let identity = Identity::from_pem(pem).map_err(wrong)?;
        self.dtls("pem")?.identity = identity;
        Ok(())
    }

    /// Adds a trusted peer. From then on no other peer is accepted.
    pub(crate) fn trust(&mut self, fingerprint: &str) -> Result<(), Failure> {
        let fingerprint: Fingerprint = fingerprint.parse()?;
        let trust = &mut self.dtls("fingerprint")?.trust;
        match trust {
            Trust::AnyPeer => *trust = Trust::Fingerprints(vec![fingerprint]),
            Trust::Fingerprints(all) => all.push(fingerprint),
        }
        Ok(())
    }

    pub(crate) fn trust_any(&mut self) -> Result<(), Failure> {
        self.dtls("options")?.trust = Trust::AnyPeer;
        Ok(())
    }

    pub(crate) fn fingerprint(&self) -> Result<String, Failure> {
        self.options.fingerprint().map(|own| own.to_string()).ok_or_else(|| without_dtls("options"))
    }

    /// Returns the options for an endpoint. Without a trusted peer each handshake would fail.
    pub(crate) fn checked(&self) -> Result<&Options, Failure> {
        let trust = self.options.dtls.as_ref().map(|dtls| &dtls.trust);
        if trust == Some(&Trust::Fingerprints(Vec::new())) {
            let message =
                "no peer is trusted; expected headway_options_trust or headway_options_trust_any before".into();
            return Err(Failure::Argument { name: "options", message });
        }
        Ok(&self.options)
    }

    fn dtls(&mut self, name: &'static str) -> Result<&mut DtlsOptions, Failure> {
        self.options.dtls.as_mut().ok_or_else(|| without_dtls(name))
    }
}

fn without_dtls(name: &'static str) -> Failure {
    Failure::Argument {
        name,
        message: "the options are insecure and have no identities; expected those of a server or client".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(result: Result<(), Failure>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn names_that_are_unknown_are_refused_with_those_that_are_known() {
        let mut options = HeadwayOptions::insecure();
        options.set_controller("tfrc-sp").unwrap();
        options.set_send_queue("sure-first").unwrap();
        assert!(message(options.set_controller("cubic")).contains("tfrc-sp"));
        assert!(message(options.set_send_queue("lifo")).contains("sfdps1"));
        let (rules, usual) = (options.options.queue.rules, Options::insecure().queue.rules);
        assert_eq!((rules.limit, rules.resend), (usual.limit, usual.resend));
    }

    /// The page `how-to/use-from-c.md` lists the controllers that C cannot select.
    #[test]
    fn controllers_without_further_needs_can_be_selected() {
        let refused: Vec<&str> =
            Options::controllers().filter(|name| HeadwayOptions::insecure().set_controller(name).is_err()).collect();
        let page = include_str!("../../../../docs/src/how-to/use-from-c.md");
        let names: Vec<String> = refused.iter().map(|name| format!("`{name}`")).collect();
        assert!(page.contains(&format!("({})", names.join(", "))), "{names:?}");
    }

    /// The first trusted peer of a server ends its trust in all others. A client must name its server.
    #[test]
    fn trust_is_explicit() {
        let mut server = HeadwayOptions::server().unwrap();
        let mut client = HeadwayOptions::client().unwrap();
        assert!(server.checked().is_ok());
        let Err(error) = client.checked() else { panic!() };
        assert!(error.to_string().contains("headway_options_trust"), "{error}");
        let fingerprints = [&server, &client].map(|options| options.fingerprint().unwrap());
        client.trust(&fingerprints[0]).unwrap();
        assert!(client.checked().is_ok());
        server.trust(&fingerprints[1]).unwrap();
        let trusted = Trust::Fingerprints(vec![fingerprints[1].parse().unwrap()]);
        assert_eq!(server.options.dtls.as_ref().unwrap().trust, trusted);
        assert!(message(server.trust("sha-256 AB")).contains("32 bytes"));
    }

    #[test]
    fn an_identity_is_kept() {
        let identity = Identity::generate().unwrap();
        let mut options = HeadwayOptions::server().unwrap();
        options.set_identity(&identity.to_pem()).unwrap();
        assert_eq!(options.fingerprint().unwrap(), identity.fingerprint().to_string());
        assert!(message(options.set_identity("key")).contains("certificate"));
    }

    #[test]
    fn insecure_options_have_no_identities() {
        let mut options = HeadwayOptions::insecure();
        let pem = Identity::generate().unwrap().to_pem();
        for result in [options.set_identity(&pem), options.trust_any(), options.fingerprint().map(drop)] {
            assert!(message(result).contains("insecure"));
        }
    }
}
