// TLS 1.3: the certificate that a listener shows, and what a dialer believes.
//
// Made by the programs and the client from PEM files that people name. Renewed files count from the
// next connection on. Both sides insist on the protocol's name (ALPN).

import Crypto
import CumulusModel
import Foundation
import NIOSSL
import Synchronization

/// Why TLS can't be used as it is set up, in one line.
package struct TLSProblem: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

enum TLS {
    static let protocolName = "cumulus/1"

    /// What proofs are bound to: SHA-256 of a certificate, DER.
    static func digest(of certificate: NIOSSLCertificate) throws -> Bytes {
        Bytes(SHA256.hash(data: try certificate.toDERBytes()))
    }

    static func problem(_ name: String, _ file: String, _ error: any Error) -> TLSProblem {
        TLSProblem("\(name): \(file) can't be used: \(error)")
    }
}

/// The certificate and the key of a listener.
package final class TLSIdentity: Sendable {
    struct Loaded: Sendable {
        let context: NIOSSLContext
        let digest: Bytes
    }

    private let files: WatchedFiles<Loaded>

    /// - Parameters:
    ///   - certificate: PEM file with the certificate, then those that lead to its authority.
    ///   - key: PEM file with its key.
    ///   - onProblem: Told why renewed files can't be used; the old ones stay in use.
    ///
    /// Throws `TLSProblem`.
    package init(
        certificate: String,
        key: String,
        onProblem: @escaping @Sendable (String) -> Void
    ) throws {
        files = try WatchedFiles([certificate, key], onProblem: onProblem) {
            try TLSIdentity.load(certificate, key)
        }
    }

    var current: Loaded { files.current }

    private static func load(_ certificate: String, _ key: String) throws -> Loaded {
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMFile(certificate)
        } catch {
            throw TLS.problem("tls-certificate", certificate, error)
        }
        guard let leaf = chain.first else {
            throw TLSProblem("tls-certificate: \(certificate) holds no certificate")
        }
        do {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
            )
            configuration.minimumTLSVersion = .tlsv13
            configuration.applicationProtocols = [TLS.protocolName]
            return Loaded(
                context: try NIOSSLContext(configuration: configuration),
                digest: try TLS.digest(of: leaf)
            )
        } catch {
            throw TLS.problem("tls-key", key, error)
        }
    }
}

/// Whether a dialer uses TLS, and whose certificates it believes.
package final class TLSTrust: Sendable {
    package enum Mode: String, Sendable, CaseIterable {
        /// Except to this machine, unless an authority is named.
        case automatic
        case always
        case never
    }

    private let mode: Mode
    private let authority: String?
    /// Made when it is needed first.
    private let files = Mutex<WatchedFiles<NIOSSLContext>?>(nil)

    /// - Parameter authority: PEM file with the authorities to believe; nil: those of the system.
    package init(_ mode: Mode = .automatic, authority: String? = nil) {
        self.mode = mode
        self.authority = authority
    }

    /// What is believed about a host; nil: it is reached over plain TCP.
    ///
    /// Throws `TLSProblem`.
    func context(for host: String) throws -> NIOSSLContext? {
        switch mode {
        case .never: return nil
        case .automatic where authority == nil && TLSTrust.isLoopback(host): return nil
        case .automatic, .always: break
        }
        return try files.withLock { files in
            if let files { return files.current }
            let made = try WatchedFiles(authority.map { [$0] } ?? []) { [authority] in
                try TLSTrust.load(authority)
            }
            files = made
            return made.current
        }
    }

    /// Whether a name means this machine.
    package static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.")
    }

    private static func load(_ authority: String?) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv13
        configuration.applicationProtocols = [TLS.protocolName]
        do {
            if let authority {
                let authorities = try NIOSSLCertificate.fromPEMFile(authority)
                configuration.trustRoots = .certificates(authorities)
            }
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw TLS.problem("the authority", authority ?? "the system's list", error)
        }
    }
}
