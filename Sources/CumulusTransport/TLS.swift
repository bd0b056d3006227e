// TLS 1.3: the certificate that a listener shows, and what a dialer believes.
//
// Made by the programs and the client from PEM files that people name. Renewed files count from the
// next connection on. Both sides insist on the protocol's name (ALPN).

import Crypto
import CumulusModel
import CumulusSystem
import NIOCore
package import NIOSSL
import Synchronization

/// Why TLS can't be used as it is set up, in one line.
package struct TLSProblem: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The other side took too long to agree on keys.
struct HandshakeTimeout: Error, CustomStringConvertible {
    var description: String { "no TLS handshake within 10 seconds" }
}

enum TLS {
    static let protocolName = "cumulus/1"
    /// How long the end of a connection may take that the other side doesn't confirm.
    static let shutdownMilliseconds: Int64 = 500

    /// Holds a certificate to the name by which a node was called: that the certificate is for the
    /// address which the name led to is not enough, since names can be made to lead elsewhere.
    static func check(_ certificate: NIOSSLCertificate, isFor name: String) throws(TLSProblem) {
        let host = name.split(separator: ".", omittingEmptySubsequences: true)
        for alternative in certificate._subjectAlternativeNames()
        where alternative.nameType == .dnsName {
            let text = String(decoding: alternative.contents, as: UTF8.self).lowercased()
            let labels = text.split(separator: ".", omittingEmptySubsequences: true)
            if labels == host { return }
            let isWild = labels.first == "*" && labels.count > 2
            if isWild, labels.count == host.count, labels.dropFirst() == host.dropFirst() { return }
        }
        throw TLSProblem("the certificate is not for the name '\(name)'")
    }

    /// The binding of proofs: SHA-256 of a certificate in DER.
    static func digest(of certificate: NIOSSLCertificate) throws -> Bytes {
        Bytes(SHA256.hash(data: try certificate.toDERBytes()))
    }

    /// Why nothing could be read from a file.
    static func lack(of what: String, in file: String) -> String {
        lack(of: what, in: file, error: access(file, R_OK) == 0 ? 0 : errno)
    }

    /// - Parameter error: The system's, for a reader of the file; 0: it may be read.
    static func lack(of what: String, in file: String, error: Int32) -> String {
        switch error {
        case 0: "\(file) holds no \(what) (PEM)"
        case EACCES: "\(file) can't be read; give it and its folder to the user of this process"
        default: "\(file) does not exist"
        }
    }

    static func problem(_ name: String, _ file: String, _ error: any Error) -> TLSProblem {
        TLSProblem("\(name): \(file) can't be used: \(error)")
    }
}

/// The certificate and the key of a listener.
package final class TLSIdentity: Sendable {
    struct Loaded: Sendable {
        let context: NIOSSLContext
        /// The same for browsers and scripts.
        let web: NIOSSLContext
        /// The same for callers of gRPC.
        let grpc: NIOSSLContext
        let digest: Bytes
        /// Seconds since 1970 at which the first certificate of the chain ends.
        let end: Int64
    }

    private let files: WatchedFiles<Loaded>

    /// - Parameters:
    ///   - certificate: PEM file with the certificate, then the certificates up to its authority.
    ///   - key: PEM file with its key.
    ///   - onRenewal: Called after files were renewed, unless they can't be used.
    ///
    /// Throws `TLSProblem`.
    package init(
        certificate: String,
        key: String,
        onRenewal: @escaping Renewal
    ) throws {
        files = try WatchedFiles([certificate, key], onRenewal: onRenewal) {
            try TLSIdentity.load(certificate, key)
        }
    }

    var current: Loaded { files.current }

    /// The context of an HTTP listener.
    package var web: NIOSSLContext { files.current.web }

    /// The context of a gRPC listener.
    package var grpc: NIOSSLContext { files.current.grpc }

    /// Seconds since 1970 UTC at which the certificate in use ends, or one of those that lead to
    /// its authority.
    package var end: Int64 { files.current.end }

    private static func load(_ certificate: String, _ key: String) throws -> Loaded {
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMFile(certificate)
        } catch {
            throw TLSProblem("tls-certificate: \(TLS.lack(of: "certificate", in: certificate))")
        }
        guard let leaf = chain.first else {
            throw TLSProblem("tls-certificate: \(certificate) holds no certificate")
        }
        var status = stat()
        guard stat(key, &status) != 0 || status.st_mode & 0o007 == 0 else {
            throw TLSProblem("tls-key: everybody may read \(key); say 'chmod o= \(key)'")
        }
        let privateKey: NIOSSLPrivateKey
        do {
            privateKey = try NIOSSLPrivateKey(file: key, format: .pem)
        } catch {
            throw TLSProblem("tls-key: \(TLS.lack(of: "private key", in: key))")
        }
        do {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) },
                privateKey: .privateKey(privateKey)
            )
            configuration.minimumTLSVersion = .tlsv13
            configuration.applicationProtocols = [TLS.protocolName]
            configuration.shutdownTimeout = .milliseconds(TLS.shutdownMilliseconds)
            var web = configuration
            web.applicationProtocols = ["http/1.1"]
            var grpc = configuration
            grpc.applicationProtocols = ["h2"]
            return Loaded(
                context: try NIOSSLContext(configuration: configuration),
                web: try NIOSSLContext(configuration: web),
                grpc: try NIOSSLContext(configuration: grpc),
                digest: try TLS.digest(of: leaf),
                end: chain.map { Int64($0.notValidAfter) }.min() ?? 0
            )
        } catch NIOSSLError.failedToLoadPrivateKey {
            throw TLSProblem("tls-key: \(key) is not the key of the certificate in \(certificate)")
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
    private let onRenewal: Renewal

    /// - Parameters:
    ///   - authority: PEM file with the trusted authorities; nil means the system's.
    ///   - onRenewal: Told of a renewed file; one that can't be used isn't.
    package init(
        _ mode: Mode = .automatic,
        authority: String? = nil,
        onRenewal: @escaping Renewal = { _ in }
    ) {
        self.mode = mode
        self.authority = authority
        self.onRenewal = onRenewal
    }

    /// Reads what is believed, where that would otherwise wait for the first connection.
    ///
    /// Throws `TLSProblem`.
    package func load() throws {
        _ = try files.withLock { try context(&$0) }
    }

    /// The context for connections to a host; nil means plain TCP.
    ///
    /// Throws `TLSProblem`.
    func context(for host: String) throws -> NIOSSLContext? {
        switch mode {
        case .never: return nil
        case .automatic where authority == nil && TLSTrust.isLoopback(host): return nil
        case .automatic, .always: break
        }
        return try files.withLock { try context(&$0) }
    }

    private func context(_ files: inout WatchedFiles<NIOSSLContext>?) throws -> NIOSSLContext {
        if let files { return files.current }
        let watched = authority.map { [$0] } ?? []
        let made = try WatchedFiles(watched, onRenewal: onRenewal) { [authority] in
            try TLSTrust.load(authority)
        }
        files = made
        return made.current
    }

    /// Whether a name means this machine.
    package static func isLoopback(_ host: String) -> Bool {
        let address = try? SocketAddress(ipAddress: host, port: 0)
        return address?.isLoopback ?? (host == "localhost")
    }

    private static func load(_ authority: String?) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv13
        configuration.applicationProtocols = [TLS.protocolName]
        configuration.shutdownTimeout = .milliseconds(TLS.shutdownMilliseconds)
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
