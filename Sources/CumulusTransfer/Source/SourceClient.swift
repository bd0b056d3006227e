// Asks web services: one request after the other for JSON, and files to the disk as they come.
//
// A request that was throttled, or got no answer, is made again as `SourcePace` says, until the
// patience of the migration is over.

import Crypto
package import CumulusModel
import CumulusSystem
import CumulusTerminal
import Synchronization

/// Where a container is at a service.
package struct SourceAddress: Hashable, Sendable {
    /// Without a slash at its end, such as `https://api.apple-cloudkit.com`.
    package var base: String
    package var container: String
    package var environment: Environment

    /// - Throws: `InputProblem` for what is no URL of https, or of http on this machine.
    package init(base: String, container: String, environment: Environment) throws {
        guard let address = WebAddress(base), address.query == nil else {
            throw InputProblem(
                "'\(base)' is no URL of web services, such as https://api.apple-cloudkit.com"
            )
        }
        guard address.isSecret else {
            throw InputProblem(
                "'\(base)' would let others read tokens and records on their way: name an https "
                    + "URL; http is for this machine only"
            )
        }
        var base = base
        while base.hasSuffix("/") { base.removeLast() }
        self.base = base
        self.container = container
        self.environment = environment
    }

    /// The path of a request, which is signed.
    package func path(_ request: SourceRequest) -> String {
        "/database/1/\(container)/\(environment.name)/\(request.path)"
    }

    package var text: String { "\(base)/\(container)/\(environment.name)" }
}

package final class SourceClient: Sendable {
    package let address: SourceAddress
    private let transport: any SourceTransport
    package let patience: Duration
    private let credentials: Mutex<SourceCredentials>
    private let hasAnswered = Mutex(false)
    private let keeping = Mutex<(@Sendable (_ key: String, _ token: String) throws -> Void)?>(nil)
    /// How long a service is waited for that never answered: it may be another one that is meant.
    private static let shortPatience = Duration.seconds(5)
    /// The SHA-256 of the user's token with which it began, in hexadecimal; nil for a server.
    package let key: String?

    /// - Parameter patience: How long a request is made again before the migration ends.
    package init(
        _ address: SourceAddress,
        _ credentials: SourceCredentials,
        over transport: any SourceTransport,
        patience: Duration
    ) {
        self.address = address
        self.patience = patience
        self.transport = transport
        self.credentials = Mutex(credentials)
        key = credentials.userToken.map { Bytes(SHA256.hash(data: Bytes($0.utf8))).hex }
    }

    package func close() async {
        await transport.close()
    }

    /// The user's token as the service renewed it last; nil where it renews none.
    package var renewedToken: (key: String, token: String)? {
        guard let key else { return nil }
        return credentials.withLock { credentials in
            guard case .user(let token, _?) = credentials else { return nil }
            return (key, token)
        }
    }

    /// Asks with another token of the user from now on.
    package func use(_ token: String) {
        credentials.withLock { _ = $0.renew(token) }
    }

    /// Hands over each token that the service gives, before anything else is asked: the last one
    /// may be of no use any more.
    package func keepTokens(
        _ keep: @escaping @Sendable (_ key: String, _ token: String) throws -> Void
    ) {
        keeping.withLock { $0 = keep }
    }

    // MARK: JSON

    /// The JSON of an answer.
    ///
    /// - Throws: `SourceRefusalError` if the service refused it; `SourceProblem` for what is no
    ///   JSON; `ServiceError` if nothing answered for as long as the patience is.
    package func ask(_ request: SourceRequest) async throws -> JSON {
        try await answer(request).json
    }

    /// The JSON of an answer, and when the service was asked: milliseconds since 1970 UTC by its
    /// clock, or by this machine's if the service does not tell.
    package func answer(_ request: SourceRequest) async throws -> (json: JSON, time: Int64) {
        let start = ContinuousClock.now
        var attempt = 0
        while true {
            attempt += 1
            let now = SourceClient.now
            let answer = await Result { try await send(request) }
            if let problem = answer.error as? OutputProblem { throw problem }
            let got = try? answer.get()
            if got != nil { hasAnswered.withLock { $0 = true } }
            let isKnown = hasAnswered.withLock { $0 }
            let end = start + (isKnown ? patience : min(patience, SourceClient.shortPatience))
            let pace = SourcePace.of(
                status: got?.status,
                retryAfter: got?.retryAfter,
                body: got?.body ?? [],
                attempt: attempt
            )
            switch pace {
            case .take:
                return (try SourceClient.json(got?.body ?? [], request), got?.time ?? now)
            case .refuse(let refusal): throw SourceRefusalError(refusal)
            case .wait(let milliseconds):
                let pause = Duration.milliseconds(milliseconds)
                guard ContinuousClock.now + pause < end else {
                    throw SourceClient.silence(request, address, answer, got?.body)
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    private func send(_ asked: SourceRequest) async throws -> SourceReply {
        let credentials = credentials.withLock { $0 }
        let target = address.path(asked) + credentials.query
        let signed = try credentials.headers(of: target, body: asked.body, now: SourceClient.now)
        let ask = SourceAsk(
            url: address.base + target,
            headers: signed + [("Content-Type", "text/plain"), ("Accept", "application/json")],
            body: asked.body
        )
        let reply = try await transport.send(ask)
        let isNew = self.credentials.withLock { $0.renew(reply.renewedToken) }
        if isNew, let renewed = renewedToken, let keep = keeping.withLock({ $0 }) {
            try keep(renewed.key, renewed.token)
        }
        return reply
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    private static func json(_ body: Bytes, _ request: SourceRequest) throws -> JSON {
        do {
            return try JSONReader.read(body)
        } catch {
            throw SourceProblem("", "the answer to \(request.path) is no JSON: \(error.message)")
        }
    }

    private static func silence(
        _ request: SourceRequest,
        _ address: SourceAddress,
        _ answer: Result<SourceReply, any Error>,
        _ body: Bytes?
    ) -> ServiceError {
        if let body, let refusal = SourceRefusal(body: body) {
            return ServiceError(
                .serviceUnavailable,
                "the source still refuses \(request.path): \(refusal.text); run it again later"
            )
        }
        var cause = "it answers with errors"
        if case .failure(let error) = answer { cause = "\(error)" }
        return ServiceError(
            .networkUnavailable,
            "the source \(address.base) can't be reached: \(cause); run it again later"
        )
    }

    // MARK: Files

    /// Writes a file of the service to the disk.
    ///
    /// - Returns: SHA-256 of its bytes.
    /// - Throws: `ServiceError` with `assetNotAvailable` if it is not there, or has another size.
    package func download(_ asset: SourceAsset, to path: String) async throws -> Bytes {
        let end = ContinuousClock.now + patience
        var attempt = 0
        while true {
            attempt += 1
            let result = await Result { try await fetch(asset, to: path) }
            let wait: Int64
            switch result {
            case .success(.success(let digest)): return digest
            case .success(.failure(let refused)):
                guard case .wait(let milliseconds) = refused.pace else {
                    throw SourceClient.unavailable(asset, "the service has no file there any more")
                }
                wait = milliseconds
            case .failure(let problem as OutputProblem): throw problem
            case .failure(let error as ServiceError): throw error
            case .failure: wait = 500 << Int64(min(attempt, 6))
            }
            let pause = Duration.milliseconds(wait)
            guard ContinuousClock.now + pause < end else {
                throw SourceClient.unavailable(asset, "the service does not send it")
            }
            try await Task.sleep(for: pause)
        }
    }

    /// One attempt: the digest of the file, or what to do about the refusal.
    private func fetch(
        _ asset: SourceAsset,
        to path: String
    ) async throws -> Result<Bytes, PaceError> {
        guard let file = try? OpenFile(emptying: path) else {
            throw OutputProblem("\(path) can't be written")
        }
        var (hash, size) = (SHA256(), UInt64(0))
        let reply = try await transport.stream(asset.downloadURL) { bytes in
            hash.update(data: bytes)
            size += UInt64(bytes.count)
            guard size <= asset.size else {
                throw SourceClient.unavailable(
                    asset,
                    "the file has more than the \(asset.size) bytes that its record says"
                )
            }
            try put(Data(bytes), to: file, path)
        }
        guard reply.status == 200 else {
            let pace = SourcePace.of(
                status: reply.status,
                retryAfter: reply.retryAfter,
                body: [],
                attempt: 1
            )
            return .failure(PaceError(pace: pace))
        }
        guard size == asset.size else {
            throw SourceClient.unavailable(
                asset,
                "the file has \(size) bytes, and its record says \(asset.size)"
            )
        }
        return .success(Bytes(hash.finalize()))
    }

    private struct PaceError: Error { var pace: SourcePace }

    /// Names the host alone: who has the whole link can read the file.
    private static func unavailable(_ asset: SourceAsset, _ why: String) -> ServiceError {
        let host = asset.downloadURL.split(separator: "/").dropFirst().first ?? ""
        return ServiceError(.assetNotAvailable, "\(why): \(host)")
    }
}

extension SourceClient {
    /// The answer as a value; a refusal becomes the error in which the migration ends.
    package func ask<Value>(
        _ request: SourceRequest,
        _ read: (JSON) throws -> Value
    ) async throws -> Value {
        do {
            return try read(try await ask(request))
        } catch let error as SourceRefusalError {
            throw error.refusal.error(of: request.path)
        } catch let problem as SourceProblem {
            throw InputProblem("the source's answer to \(request.path): \(problem.description)")
        }
    }
}
