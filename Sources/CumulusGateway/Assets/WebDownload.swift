// One download: the status and the headers of its answer, and then its bytes, some chunks at a
// time.
//
// Made by `WebTransfers`. The node is asked for the next chunks when those before them are sent,
// and each time it asks for the caller's rights.

import CumulusAssets
package import CumulusModel
import CumulusWire

package final class WebDownload: Sendable {
    package let status: Int
    package let headers: [(name: String, value: String)]
    /// The bytes of the asset that are sent.
    package let range: Range<UInt64>
    private let calls: any WebCalls
    private let request: DownloadAssetRequest
    private let list: ChunkList
    /// The first bytes, read before the answer begins, so that an error is sent as an error.
    private let first: Bytes

    /// Bytes of chunks that are read at once, but for the last of them.
    private static let stepBytes: UInt64 = 1 << 20
    /// Approximate upper bound for the memory of a download.
    package static let memoryBytes = 4 << 20

    /// - Parameter web: Its method and headers say which part is sent.
    static func open(
        _ asset: Asset,
        _ request: DownloadAssetRequest,
        _ calls: any WebCalls,
        for web: WebRequest
    ) async throws -> WebDownload {
        var only = request
        only.onlyList = true
        let messages = try await calls.read(.assetsDownload, only.encoded())
        let bytes = try messages.first.map { try DownloadAssetResponse(wire: $0).list } ?? []
        guard let list = try? ChunkList(checking: bytes), list.digest == asset.digest else {
            throw WebContext.resultMissing
        }
        let tag = "\"\(list.digest.hex)\""
        var (status, range) = (200, 0..<list.size)
        var partHeaders: [(name: String, value: String)] = []
        switch FilePart(web, of: tag, size: list.size) {
        case .whole: break
        case .bytes(let part):
            (status, range) = (206, part)
            let text = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(list.size)"
            partHeaders = [("Content-Range", text)]
        case .known: (status, range) = (304, 0..<0)
        case .beyondTheEnd: throw beyondTheEnd(list.size)
        case .another: throw another
        }
        let headers = [
            (name: "ETag", value: tag),
            (name: "Content-Type", value: "application/octet-stream"),
            (name: "Content-Disposition", value: "attachment"),
            // Uploaded files must not run as a page of this host.
            (name: "Content-Security-Policy", value: "sandbox; default-src 'none'"),
            (name: "X-Content-Type-Options", value: "nosniff"),
            (name: "Cache-Control", value: "private, no-store"),
            (name: "Accept-Ranges", value: "bytes"),
        ]
        var first: Bytes = []
        if web.method != "HEAD", !range.isEmpty {
            let end = WebDownload.end(of: range.lowerBound, in: range, of: list)
            first = try await read(range.lowerBound..<end, request, list, calls)
        }
        return WebDownload(
            status: status,
            headers: headers + partHeaders,
            range: range,
            calls: calls,
            request: request,
            list: list,
            first: first
        )
    }

    private static func beyondTheEnd(_ size: UInt64) -> WebError {
        var error = WebError.badRequest("the range begins behind the file's \(size) bytes")
        error.status = 416
        error.headers["Content-Range"] = "bytes */\(size)"
        return error
    }

    private static let another: WebError = {
        var error = WebError.badRequest("If-Match names another file; read the record again")
        error.status = 412
        return error
    }()

    private init(
        status: Int,
        headers: [(name: String, value: String)],
        range: Range<UInt64>,
        calls: any WebCalls,
        request: DownloadAssetRequest,
        list: ChunkList,
        first: Bytes
    ) {
        self.status = status
        self.headers = headers
        self.range = range
        self.calls = calls
        self.request = request
        self.list = list
        self.first = first
    }

    // It may end anywhere, also where a lock is held.
    deinit { Task { [calls] in calls.close() } }

    /// The bytes of some chunks, from a position of the asset on; empty at the end of the range.
    package func bytes(from position: UInt64) async throws -> Bytes {
        if position == range.lowerBound { return first }
        guard position < range.upperBound else { return [] }
        let end = WebDownload.end(of: position, in: range, of: list)
        return try await WebDownload.read(position..<end, request, list, calls)
    }

    // MARK: From the node

    /// The end of the chunks that are read at once from a position on.
    private static func end(
        of position: UInt64,
        in range: Range<UInt64>,
        of list: ChunkList
    ) -> UInt64 {
        let wanted = position..<min(range.upperBound, position + stepBytes)
        let (chunks, start) = list.chunks(holding: wanted)
        let end = chunks.reduce(start) { $0 + UInt64(list[$1].size) }
        return min(end, range.upperBound)
    }

    private static func read(
        _ range: Range<UInt64>,
        _ request: DownloadAssetRequest,
        _ list: ChunkList,
        _ calls: any WebCalls
    ) async throws -> Bytes {
        var request = request
        request.offset = range.lowerBound
        request.length = UInt64(range.count)
        let messages = try await calls.read(.assetsDownload, request.encoded())
        let plain = try plain(messages)
        let (chunks, start) = list.chunks(holding: range)
        var bytes: Bytes = []
        bytes.reserveCapacity(chunks.reduce(0) { $0 + list[$1].size })
        for index in chunks {
            guard let chunk = plain[list[index].digest] else { throw WebContext.resultMissing }
            bytes += chunk
        }
        bytes.removeFirst(Int(range.lowerBound - start))
        return Bytes(bytes.prefix(range.count))
    }

    private static func plain(_ messages: [Bytes]) throws -> [Bytes: ArraySlice<UInt8>] {
        let codec = ChunkCodec()
        var plain: [Bytes: ArraySlice<UInt8>] = [:]
        for message in messages {
            for chunk in try DownloadAssetResponse(wire: message).chunks {
                plain[chunk.digest] = try chunk.plain(codec)
            }
        }
        return plain
    }
}
