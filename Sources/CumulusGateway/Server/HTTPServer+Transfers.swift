// Files over HTTP: bodies that pass through without being held, in both directions.
//
// It is called for each request before its body is read. `WebTransfers` runs at the pace of the
// slower side: an upload is read when the node has taken the earlier bytes, and a download is read
// from the node when the caller has taken the sent ones.

import CumulusModel
import HTTPTypes
import HummingbirdCore
import NIOCore

extension HTTPServer {
    /// Bytes of a download that are written at once.
    private static let sliceBytes = 64 << 10

    /// Answers a request whose body, or whose answer, is a file; nil if neither is one.
    ///
    /// - Parameter pages: The pages that the request is for.
    func transfer(
        _ request: Request,
        _ web: WebRequest,
        _ pages: (any WebPages)?,
        _ caller: Caller
    ) async -> Response? {
        if let pages = pages as? any FilePages, pages.takesFile(web) {
            return await upload(request, web, caller) { body, onWait in
                await pages.upload(web, body, limit: bounds.uploadBytes, onWait: onWait)
            }
        }
        guard WebLink.token(of: web.target) != nil, web.method != "OPTIONS" else { return nil }
        let isDownload = web.method == "GET" || web.method == "HEAD"
        if isDownload { return await download(web, caller) }
        return await upload(request, web, caller) { body, onWait in
            await gateway.transfers.upload(web, body, limit: bounds.uploadBytes, onWait: onWait)
        }
    }

    // MARK: Up

    /// The pieces of a file.
    private typealias FileBody = AsyncThrowingMapSequence<RequestBody, Bytes>

    private func upload(
        _ request: Request,
        _ web: WebRequest,
        _ caller: Caller,
        _ take: (_ body: FileBody, _ onWait: () -> Void) async -> WebAnswer
    ) async -> Response {
        let length = web.contentLength
        // A form has some bytes around its file.
        if let length, length > bounds.uploadBytes + 16 << 10 {
            return refusal(
                .badRequest("the file has more than \(bounds.uploadBytes) bytes, the limit here")
            )
        }
        let part = RoomPart(of: transfers)
        defer { withExtendedLifetime(part) {} }
        let body = request.body.map { buffer in
            // The bytes, and the messages made of them.
            try part.grow(by: 2 * buffer.readableBytes, upTo: UploadCutter.memoryBytes)
            return Bytes(buffer.readableBytesView)
        }
        return HTTPServer.response(await take(body, caller.expectBody))
    }

    // MARK: Down

    private func download(_ web: WebRequest, _ caller: Caller) async -> Response {
        caller.expectBody()
        let held = gateway.transfers.memoryBytes(of: web)
        let part = RoomPart(of: transfers)
        do throws(WebError) {
            try part.grow(by: held)
        } catch {
            return refusal(error)
        }
        switch await gateway.transfers.download(web) {
        case .answer(let answer):
            return HTTPServer.response(answer)
        case .bytes(let download, let headers):
            // The part is held until the body is written, or given up.
            let body = ResponseBody(contentLength: download.range.count) { writer in
                defer { withExtendedLifetime(part) {} }
                var position = download.range.lowerBound
                while position < download.range.upperBound {
                    let bytes = try await download.bytes(from: position)
                    for start in stride(from: 0, to: bytes.count, by: HTTPServer.sliceBytes) {
                        let slice = bytes[start...].prefix(HTTPServer.sliceBytes)
                        try await writer.write(ByteBuffer(bytes: slice))
                    }
                    position += UInt64(bytes.count)
                }
                try await writer.finish(nil)
            }
            return Response(
                status: HTTPResponse.Status(code: download.status),
                headers: HTTPServer.fields(headers),
                body: body
            )
        }
    }
}
