//! Identities and trust: certificates are self-signed and known by their fingerprints (RFC 8122), as in WebRTC.

use super::super::SecureError;
use dimpl::certificate::{calculate_fingerprint, format_fingerprint, generate_self_signed_certificate};
use dimpl::crypto::Buf;
use dimpl::crypto::aws_lc_rs::default_provider;
use dimpl::{CryptoError, DtlsCertificate};
use std::fmt;
use std::str::FromStr;

/// Certificate and private key of an endpoint.
#[derive(Clone)]
pub struct Identity(DtlsCertificate);

impl Identity {
    /// Creates a key (P-256) and a self-signed certificate, valid for a year. The identity is lost unless the
    /// program stores it.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn generate() -> Result<Self, SecureError> {
        let made = generate_self_signed_certificate().map(Self);
        made.map_err(|error| IdentityError::Generate(error.to_string()).into())
    }

    /// Creates an identity from a certificate (X.509, DER) and its private key (PKCS #8 or SEC 1, DER; P-256 or P-384).
    ///
    /// # Errors
    ///
    /// If the private key cannot be used, or does not belong to the certificate.
    pub fn from_der(certificate: Vec<u8>, private_key: Vec<u8>) -> Result<Self, SecureError> {
        let certificate = DtlsCertificate { certificate, private_key };
        check_pair(&certificate)?;
        Ok(Self(certificate))
    }

    /// Creates an identity from the first certificate (`CERTIFICATE`) and the first private key (PKCS #8 or SEC 1,
    /// `PRIVATE KEY` or `EC PRIVATE KEY`) of a text in PEM (RFC 7468), written by [`to_pem`](Self::to_pem) or another
    /// program.
    ///
    /// # Errors
    ///
    /// If one of the two is missing, or as [`from_der`](Self::from_der).
    pub fn from_pem(text: &str) -> Result<Self, SecureError> {
        let parts = pem::parse_many(text).map_err(|error| IdentityError::Pem(error.to_string()))?;
        let part = |what, tags: &[&str]| {
            let found = parts.iter().find(|part| tags.contains(&part.tag()));
            found.map(|part| part.contents().to_vec()).ok_or(IdentityError::Missing(what))
        };
        Self::from_der(part("certificate", &["CERTIFICATE"])?, part("private key", &["PRIVATE KEY", "EC PRIVATE KEY"])?)
    }

    /// Returns certificate and private key as a text in PEM. A file with it must be kept secret: with the key an
    /// attacker can impersonate this endpoint.
    #[must_use]
    pub fn to_pem(&self) -> String {
        let DtlsCertificate { certificate, private_key } = &self.0;
        let line_ending = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
        let parts = [("CERTIFICATE", certificate), ("PRIVATE KEY", private_key)];
        pem::encode_many_config(&parts.map(|(tag, der)| pem::Pem::new(tag, der.as_slice())), line_ending)
    }

    /// Returns the fingerprint by which peers authenticate this endpoint.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.0.certificate)
    }

    pub(super) fn certificate(&self) -> DtlsCertificate {
        self.0.clone()
    }
    /// Returns the length of the certificate, in bytes.
    pub(super) fn certificate_len(&self) -> usize {
        self.0.certificate.len()
    }
}

/// Signs a text with the private key and verifies it with the certificate's public key, as a peer does in a
/// handshake.
fn check_pair(DtlsCertificate { certificate, private_key }: &DtlsCertificate) -> Result<(), IdentityError> {
    const TEXT: &[u8] = b"headway identity";
    let provider = default_provider();
    let key = provider.key_provider.load_private_key(private_key);
    let mut key = key.map_err(|error| IdentityError::PrivateKey(error.to_string()))?;
    let (hash, algorithm) = (key.hash_algorithm(), key.algorithm());
    let mut signature = Buf::new();
    key.sign(TEXT, hash, &mut signature).map_err(|error| IdentityError::Sign(error.to_string()))?;
    let verified = provider.signature_verification.verify_signature(certificate, TEXT, &signature, hash, algorithm);
    verified.map_err(|error| match error {
        CryptoError::SignatureVerificationFailed { .. } => IdentityError::Mismatch,
        error => IdentityError::Certificate(error.to_string()),
    })
}

/// Reason why a certificate and a private key are no [`Identity`]. Some variants contain the message of a library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
#[non_exhaustive]
pub enum IdentityError {
    #[error("{0}")]
    Generate(String),
    #[error("the text is not PEM: {0}")]
    Pem(String),
    #[error("the text contains no {0}")]
    Missing(&'static str),
    #[error("the private key is not a P-256 or P-384 key in DER: {0}")]
    PrivateKey(String),
    #[error("the private key cannot sign: {0}")]
    Sign(String),
    #[error("the certificate is not a P-256 or P-384 certificate: {0}")]
    Certificate(String),
    #[error(
        "the private key does not belong to the certificate: write the certificate of this key, or the key of this certificate"
    )]
    Mismatch,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.fingerprint())
    }
}

/// SHA-256 of a certificate in DER, printed as in RFC 8122 section 5: `sha-256 AB:CD:..`. When parsed, `sha-256` may be
/// omitted, so that the text needs no quotes in a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(super) fn of(certificate: &[u8]) -> Self {
        let mut hash = [0; 32];
        for (to, from) in hash.iter_mut().zip(calculate_fingerprint(certificate)) {
            *to = from;
        }
        Self(hash)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha-256 {}", format_fingerprint(&self.0))
    }
}

/// Error of a text that is not a [`Fingerprint`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a fingerprint; expected 32 bytes in hex, such as \"sha-256 AB:CD:..\" or AB:CD:..")]
pub struct FingerprintError(String);

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hash = || {
            let (function, hex) = text.trim().split_once(' ').unwrap_or(("sha-256", text.trim()));
            let mut hash = [0; 32];
            let mut bytes = hex.trim_start().split(':');
            for to in &mut hash {
                let digits = bytes.next().filter(|digits| digits.len() == 2 && !digits.starts_with('+'))?;
                *to = u8::from_str_radix(digits, 16).ok()?;
            }
            (function.eq_ignore_ascii_case("sha-256") && bytes.next().is_none()).then_some(Self(hash))
        };
        hash().ok_or_else(|| FingerprintError(text.to_owned()))
    }
}

/// Trusted peers. There is no default: a program that accepts any peer must say so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Accept any peer. This protects against eavesdropping but not against a man in the middle.
    AnyPeer,
    /// Accept peers with one of these fingerprints. A server then requests a certificate from its clients.
    Fingerprints(Vec<Fingerprint>),
}

impl Trust {
    pub(super) fn trusts(&self, peer: Fingerprint) -> bool {
        match self {
            Self::AnyPeer => true,
            Self::Fingerprints(expected) => expected.contains(&peer),
        }
    }
    pub(super) fn wants_certificate(&self) -> bool {
        matches!(self, Self::Fingerprints(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "abc", FIPS 180-2 appendix B.1.
    const ABC: &str =
        "sha-256 BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD";

    #[test]
    fn a_fingerprint_is_sha_256_as_rfc_8122_writes_it() {
        assert_eq!(Fingerprint::of(b"abc").to_string(), ABC);
        assert_eq!(ABC.parse(), Ok(Fingerprint::of(b"abc")));
        assert_eq!(ABC.to_lowercase().parse(), Ok(Fingerprint::of(b"abc")));
        // `headway recv` prints it without the name of the function.
        assert_eq!(ABC["sha-256 ".len()..].parse(), Ok(Fingerprint::of(b"abc")));
        for wrong in
            ["", "sha-256", "sha-1 BA:78", &ABC[..ABC.len() - 3], &format!("{ABC}:00"), &ABC.replace("BA", "+A")]
        {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }

    /// RFC 7468 sections 5 and 10 define the labels.
    #[test]
    fn an_identity_is_restored_from_pem() {
        let identity = Identity::generate().unwrap();
        let text = identity.to_pem();
        assert!(text.starts_with("-----BEGIN CERTIFICATE-----\n") && text.contains("-----BEGIN PRIVATE KEY-----\n"));
        let again = Identity::from_pem(&text).unwrap();
        assert_eq!(again.fingerprint(), identity.fingerprint());
        assert_eq!(again.to_pem(), text);
        let certificate = text.split_inclusive("-----END CERTIFICATE-----\n").next().unwrap();
        for (wrong, why) in [
            ("", "the text contains no certificate"),
            (certificate, "the text contains no private key"),
            (&text.replace("PRIVATE", "PUBLIC"), "the text contains no private key"),
            (&text.replace("BEGIN PRIVATE KEY-----\n", "BEGIN PRIVATE KEY-----\n????"), "the text is not PEM: "),
        ] {
            let Err(SecureError::Identity(error)) = Identity::from_pem(wrong) else { panic!("{wrong}") };
            assert!(error.to_string().starts_with(why), "{error}");
        }
    }

    #[test]
    fn an_invalid_key_is_refused() {
        let ours = Identity::generate().unwrap().certificate();
        assert!(Identity::from_der(ours.certificate.clone(), ours.private_key.clone()).is_ok());
        assert!(matches!(
            Identity::from_der(ours.certificate, vec![1; 138]),
            Err(SecureError::Identity(IdentityError::PrivateKey(_)))
        ));
    }

    /// An identity with the key of another certificate was accepted, and every handshake failed.
    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let [ours, theirs] = [(); 2].map(|()| Identity::generate().unwrap().certificate());
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
        let other_curve = rcgen::CertificateParams::default().self_signed(&key).unwrap().der().to_vec();
        assert!(Identity::from_der(other_curve.clone(), key.serialize_der()).is_ok());
        let pairs = [
            (ours.certificate.clone(), theirs.private_key.clone()),
            (ours.certificate, key.serialize_der()),
            (other_curve, theirs.private_key.clone()),
        ];
        for (certificate, private_key) in pairs {
            let error = Identity::from_der(certificate, private_key).unwrap_err();
            assert_eq!(error, SecureError::Identity(IdentityError::Mismatch));
        }
        let error = Identity::from_der(vec![1; 138], theirs.private_key).unwrap_err();
        assert!(matches!(error, SecureError::Identity(IdentityError::Certificate(_))), "{error}");
    }
}
