// What the process shows to callers over TLS, and whom it trusts when it calls.
//
// Called by `Wiring` while it checks the settings. Renewed files are read while the node runs.

import CumulusTransport
import Logging

extension Wiring {
    /// The node's certificate for its callers; nil means plain TCP.
    func identity() throws -> TLSIdentity? {
        let (certificate, key) = (configuration[\.tls.certificate], configuration[\.tls.key])
        guard certificate.isEmpty == key.isEmpty else {
            throw StartProblem("tls-certificate and tls-key belong together: name both, or none")
        }
        if certificate.isEmpty { return nil }
        let logger = logger
        do {
            return try TLSIdentity(certificate: certificate, key: key) { problem in
                Wiring.tell(logger, of: "certificate", problem)
            }
        } catch {
            throw StartProblem("\(error)")
        }
    }

    static func tell(_ logger: Logger, of what: String, _ problem: String?) {
        guard let problem else { return logger.info("a renewed \(what) is in use") }
        logger.error(
            "a renewed \(what) can't be used; the old one stays in use",
            metadata: ["why": "\(problem)"]
        )
    }

    /// The authorities whose certificates are trusted when this node calls others.
    func trust() throws -> TLSTrust {
        let authority = configuration[\.tls.authority]
        if !authority.isEmpty {
            let logger = logger
            let trust = TLSTrust(authority: authority) { problem in
                Wiring.tell(logger, of: "authority", problem)
            }
            do {
                try trust.load()
            } catch {
                throw StartProblem(\.tls.authority, "\(error)")
            }
            return trust
        }
        if !configuration[\.tls.certificate].isEmpty { return TLSTrust(.always) }
        return TLSTrust(try configuration[\.tls.insecure] ? .never : .automatic)
    }
}
