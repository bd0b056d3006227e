// Polls for notifications over HTTP: a request that waits, and ends when the caller goes away.
//
// Called for each request before its body is read. A notification counts as told when it was
// written to a caller that is still there.

import HTTPTypes
import HummingbirdCore
import NIOCore

extension HTTPServer {
    /// Answers a poll; nil if the request is for something else.
    func poll(_ request: Request, _ web: WebRequest, _ caller: Caller) async -> Response? {
        guard CourierToken.token(of: web.target) != nil, web.method != "OPTIONS" else { return nil }
        // Late bytes of the request before it may have started the timer.
        caller.expectBody()
        let courier = gateway.courier
        let delivery = try? await request.body.consumeWithCancellationOnInboundClose { _ in
            await courier.poll(web)
        }
        // The caller went away while it waited. Its connection is closed.
        guard let delivery else { return Response(status: .ok) }
        let bytes = ByteBuffer(bytes: delivery.answer.body)
        let body = ResponseBody(contentLength: bytes.readableBytes) { writer in
            if bytes.readableBytes > 0 { try await writer.write(bytes) }
            try await writer.finish(nil)
            courier.delivered(delivery)
        }
        return Response(
            status: .init(code: delivery.answer.status),
            headers: HTTPServer.fields(delivery.answer.headers),
            body: body
        )
    }
}
