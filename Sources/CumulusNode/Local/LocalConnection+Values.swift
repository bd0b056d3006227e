// Calls by values: no message is encoded or decoded, no frame is cut, no credit is given.
//
// `LocalRecords` makes them for the doors in this process. `OpenCalls` opens them like calls in
// frames, after the same checks.

import CumulusModel
import CumulusStorage
package import CumulusWire
import Synchronization

extension LocalConnection {
    /// A call that waits until the node takes it.
    struct Unopened {
        let number: UInt32
        let header: CallHeader
        let call: ValueCall
    }

    /// Makes a call by values; returns the parts of its answer.
    ///
    /// - Parameters:
    ///   - message: The request, if it is a message.
    ///   - byteCount: About what the request would take in a message.
    ///   - begin: Takes the place of the method's handler, and puts what it finds into `sink`.
    func call<Content>(
        _ header: CallHeader,
        _ message: Bytes = [],
        byteCount: Int,
        _ sink: ValueSink<Content>,
        _ begin: @escaping MethodEntry.Handler
    ) async throws(ServiceError) -> [Content] {
        let number = Mutex<UInt32>(0)
        let header = header.traced()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                ownLoop.perform { [self] in
                    let call = LocalCall { continuation.resume(returning: $0) }
                    let started = start(call, header) { end in
                        ValueCall(message: message, byteCount: byteCount, begin: begin, end: end)
                    }
                    number.withLock { $0 = started }
                }
            }
        } onCancel: {
            loop.execute { [self] in cancel(value: number.withLock { $0 }) }
        }
        _ = try result.get()
        return sink.all
    }

    /// Gives a call a request id of its own.
    package func naming(_ header: CallHeader) -> CallHeader {
        var dice = NodeDice(node.environment)
        var header = header
        header.requestID = RequestID(milliseconds: node.clock, using: &dice).bytes
        return header
    }

    /// Returns the number of the call; 0 if the connection has ended.
    private func start(
        _ call: LocalCall,
        _ header: CallHeader,
        _ value: (_ end: @escaping ValueCall.End) -> ValueCall
    ) -> UInt32 {
        if let ending {
            call.end(.failure(ending))
            return 0
        }
        let number = nextValue
        nextValue += 2
        calls[number] = call
        var header = header
        header.causalTokens = seen
        let value = value { [self] error in
            // What the node says before the answer is taken first: how far it reaches.
            loop.execute { [self] in ended(number, error) }
        }
        unopened.append(Unopened(number: number, header: header, call: value))
        openCalls()
        // A call that has to wait needs a turn too, which says when to look again.
        needsTurn()
        return number
    }

    /// Begins the calls that the node takes now.
    func openCalls() {
        let now = node.environment.now()
        while let next = unopened.first, let handler, handler.takesCall(now: now) {
            unopened.removeFirst()
            handler.open(next.call, next.header, on: next.number, now: now)
            needsTurn()
        }
    }

    private func ended(_ number: UInt32, _ error: ServiceError?) {
        endTurn(ended: number)
        guard let call = calls.removeValue(forKey: number) else { return }
        if let error { return call.end(.failure(error)) }
        if !told.isEmpty { cover() }
        call.end(.success([]))
    }

    private func cancel(value number: UInt32) {
        if let index = unopened.firstIndex(where: { $0.number == number }) {
            unopened.remove(at: index)
            calls.removeValue(forKey: number)?.end(.failure(.cancelledByCaller))
        } else if calls[number] != nil {
            handler?.cancel(value: number)
        }
    }
}
