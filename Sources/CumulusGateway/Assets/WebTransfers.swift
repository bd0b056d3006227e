// Requests to sealed links: files on their way up and down.
//
// The HTTP server calls it before it reads a body; tests call it without a server. A link needs no
// other credentials. Its maker is looked up again, with the rights that it has now.

package import CumulusModel
import CumulusNode
import CumulusWire

package struct WebTransfers: Sendable {
    /// Bytes of a file that web services take.
    package static let uploadBytes = 50 << 20

    private let gateway: WebGateway
    private var door: any WebDoor { gateway.door }

    init(_ gateway: WebGateway) {
        self.gateway = gateway
    }

    // MARK: Up

    /// Takes a file; the answer holds what records/modify takes as the value of a field.
    ///
    /// - Parameters:
    ///   - body: The body, in pieces.
    ///   - limit: Bytes of the file.
    ///   - onWait: Told when the body's first bytes are waited for, and again when a part of it
    ///     is on the node's disk, and more is to come.
    package func upload<Body: AsyncSequence>(
        _ request: WebRequest,
        _ body: Body,
        limit: Int = WebTransfers.uploadBytes,
        onWait: () -> Void = {}
    ) async -> WebAnswer where Body.Element == Bytes {
        await answering(request) { link, uuid in
            guard case .upload(let zone) = link.purpose, request.method == "POST" else {
                throw wrongMethod(link)
            }
            let calls = try await enter(link, request)
            defer { calls.close() }
            var upload = try WebUpload(
                calls,
                link.access.database,
                zone: zone,
                limit: limit,
                contentType: request.headers["content-type"] ?? ""
            )
            let asset = try await upload.take(body, of: request, onWait: onWait)
            let links = WebLinks(door: door, access: link.access, base: "")
            let file = links.json(asset, for: calls.user, in: zone, isUpload: true)
            let json: JSON = ["singleFile": file]
            return WebAnswer(
                status: 200,
                headers: WebGateway.common(uuid),
                body: json.bytes
            )
        }
    }

    // MARK: Down

    /// The answer to a download: the bytes of a file, or an error.
    package enum Download: Sendable {
        /// Bytes of an asset, and headers beside its own.
        case bytes(WebDownload, headers: [(name: String, value: String)])
        case answer(WebAnswer)
    }

    /// Approximate memory of a download.
    func memoryBytes(of request: WebRequest) -> Int {
        guard case .download(let asset, _, _)? = try? link(of: request).purpose else { return 0 }
        return min(2 * Int(clamping: min(asset.size, 1 << 30)), WebDownload.memoryBytes)
    }

    package func download(_ request: WebRequest) async -> Download {
        var opened: WebDownload?
        let answer = await answering(request) { link, uuid in
            guard case .download(let asset, let record, let field) = link.purpose else {
                throw wrongMethod(link)
            }
            let calls = try await enter(link, request)
            var message = DownloadAssetRequest(database: link.access.database, asset: asset.digest)
            message.record = WireRecordID(record)
            message.field = Bytes(field.utf8)
            do {
                let download = try await WebDownload.open(
                    asset,
                    message,
                    calls,
                    for: request
                )
                opened = download
                return WebAnswer(
                    status: download.status,
                    headers: [(name: "X-Apple-Request-UUID", value: uuid)]
                )
            } catch {
                calls.close()
                throw error
            }
        }
        if let opened { return .bytes(opened, headers: opened.headers + answer.headers) }
        return .answer(answer)
    }

    // MARK: Links

    /// Opens the link, and turns what goes wrong into an answer.
    private func answering(
        _ request: WebRequest,
        _ body: (WebLink, _ uuid: String) async throws -> WebAnswer
    ) async -> WebAnswer {
        let start = door.nanoseconds()
        let uuid = WebText.uuid(door.random(), door.random())
        let origin = request.headers["origin"]
        var answer: WebAnswer
        var isAdmitted = true
        do {
            let link = try link(of: request)
            isAdmitted = try await admits(origin, link)
            guard isAdmitted else {
                throw WebError(.accessDenied, "the link is not for pages of \(origin ?? "")")
            }
            answer = try await body(link, uuid)
        } catch {
            answer = WebTransfers.error(error).answer(uuid: uuid)
        }
        if isAdmitted { answer.headers += WebGateway.sharing(with: origin, isPreflight: false) }
        let microseconds = (door.nanoseconds() - start) / 1_000
        gateway.meter.note("content", status: answer.status, microseconds: microseconds)
        return answer
    }

    private func link(of request: WebRequest) throws(WebError) -> WebLink {
        guard let token = WebLink.token(of: request.target),
            let sealed = Base64URL.decode(token.utf8), let content = door.open(sealed),
            let link = try? WebLink(content: content), link.isGood(now: door.now)
        else { throw WebTransfers.expired }
        return link
    }

    /// Whether pages of an origin may use the link, as far as the app's API token is still good.
    private func admits(_ origin: String?, _ link: WebLink) async throws(WebError) -> Bool {
        if link.access.api.isEmpty { return true }
        guard let app = try await door.app(of: link.access.api) else { throw WebTransfers.expired }
        return origin.map { app.admits(origin: $0) } ?? true
    }

    private func enter(
        _ link: WebLink,
        _ request: WebRequest
    ) async throws(ServiceError) -> any WebCalls {
        let address = request.address
        var entrance = link.access.entrance(address: address, isSecret: request.isSecret)
        let seen = link.seen.map { WebSeen(token: $0, made: link.made) }
        if let seen, seen.isGood(now: door.now) { entrance.seen = [seen.token] }
        return try await door.enter(entrance)
    }

    // MARK: Errors

    private static let expired = WebError(
        .notFound,
        "the link is not valid, or not any more; ask assets/upload for one, or read the record "
            + "again"
    )

    private func wrongMethod(_ link: WebLink) -> WebError {
        switch link.purpose {
        case .upload: .methodNotAllowed("a link to upload takes POST", allowed: ["POST"])
        case .download: .methodNotAllowed("a link to a file takes GET", allowed: ["GET", "HEAD"])
        }
    }

    private static func error(_ error: any Error) -> WebError {
        guard let service = error as? ServiceError else { return WebError(any: error) }
        // Content that the caller may not read, or that no node has, is not there for it.
        let mayCome = service.reason == .assetIncomplete && service.retryAfterMilliseconds != nil
        let isGone = service.code == .assetNotAvailable && !mayCome
        return isGone ? WebError(.notFound, service.message) : WebError(service)
    }
}

extension WebGateway {
    package var transfers: WebTransfers { WebTransfers(self) }
}
