// One caller in one of two worlds, and what it was answered so far.
//
// It asks over a socket, one call after the other; `HiddenProbes` says what.

import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire

@testable import CumulusNode

final class HiddenCaller {
    struct Answer {
        let method: CumulusWire.Method
        let question: String
        /// Messages, and the status at their end.
        var frames: [Frame] = []
        /// Why the worlds may differ here; empty: they may not.
        let known: String
    }

    let who: HiddenScene.Who
    let scene: HiddenScene
    private let world: HiddenWorlds.World
    private let client: RawClient
    var text: WireText
    private var dice = SeededGenerator(seed: 7)
    private var kept: [Frame] = []
    private(set) var answers: [Answer] = []
    /// Methods that were called, and the methods among them that answered with more than an error.
    private(set) var asked: Set<CumulusWire.Method> = []
    private(set) var answered: Set<CumulusWire.Method> = []

    init(_ who: HiddenScene.Who, _ scene: HiddenScene, in world: HiddenWorlds.World) throws {
        (self.who, self.scene, self.world) = (who, scene, world)
        let token = scene.tokens[who] ?? ""
        client = try RawClient(greeting: world.server.endpoint, token: token)
        client.patience = 60_000
        text = WireText(of: world.server.node)
    }

    var past: HiddenScene.Past { scene.past[who, default: .nothing] }

    /// Asks, and notes the answer.
    ///
    /// - Parameters:
    ///   - what: Tells the question from others of the method.
    ///   - known: Why the worlds may differ in the answer.
    ///   - isLast: Whether a message of a stream is the last one that is waited for.
    /// - Returns: The messages.
    @discardableResult
    func ask(
        _ method: CumulusWire.Method,
        _ what: String,
        _ message: Bytes,
        mayDiffer known: String = "",
        until isLast: (Bytes) throws -> Bool = { _ in false }
    ) throws -> [Bytes] {
        let call = call(method, message)
        try client.send(call)
        try client.credit(4 << 20, on: call)
        return try read(call, method, what, known, isLast)
    }

    /// Begins a stream, and reads until it is up to date.
    func follow(
        _ method: CumulusWire.Method,
        _ what: String,
        _ message: Bytes,
        _ sights: Set<HiddenScene.Sight>,
        until isLast: (Bytes) throws -> Bool
    ) throws -> Stream {
        let call = call(method, message)
        try client.send(call)
        try client.credit(4 << 20, on: call)
        _ = try read(call, method, what, joins(method), isLast, ends: false)
        return Stream(call: call, method: method, what: what, sights: sights)
    }

    /// To join an open share changes its record, and so its zone, for all who are in it.
    private func joins(_ method: CumulusWire.Method) -> String {
        who == .joiner && method != .changesFollowZone ? "somebody joined" : ""
    }

    struct Stream {
        let call: Frame
        let method: CumulusWire.Method
        let what: String
        /// What will show in it.
        let sights: Set<HiddenScene.Sight>
    }

    /// Reads on in a stream, to the message that shows what happened.
    func read(_ stream: Stream, to sight: HiddenScene.Sight) throws {
        let sign = Bytes(sight.rawValue.utf8)
        let what = "\(stream.what), \(sight.rawValue)"
        let known = stream.method == .feedsFollow ? joins(stream.method) : ""
        _ = try read(stream.call, stream.method, what, known, { $0.contains(sign) }, ends: false)
    }

    private func call(_ method: CumulusWire.Method, _ message: Bytes) -> Frame {
        asked.insert(method)
        var header = CallHeader(method)
        header.requestID = RequestID(milliseconds: world.still.now, using: &dice).bytes
        return client.call(header, message)
    }

    /// The next frame of a stream; what comes for others is kept for them.
    private func nextFrame(of stream: UInt32) throws -> Frame {
        if let kept = kept.firstIndex(where: { $0.stream == stream }) {
            return self.kept.remove(at: kept)
        }
        while true {
            let frame = try client.nextFrame()
            if frame.stream == stream { return frame }
            kept.append(frame)
        }
    }

    private func read(
        _ call: Frame,
        _ method: CumulusWire.Method,
        _ what: String,
        _ known: String,
        _ isLast: (Bytes) throws -> Bool,
        ends: Bool = true
    ) throws -> [Bytes] {
        var answer = Answer(method: method, question: "\(method) \(what)", known: known)
        defer { answers.append(answer) }
        var messages: [Bytes] = []
        while true {
            let frame = try nextFrame(of: call.stream)
            guard frame.kind == .message || frame.kind == .status else { continue }
            answer.frames.append(frame)
            if frame.kind == .status { return messages }
            answered.insert(method)
            messages.append(frame.payload)
            if frame.isEnd { return messages }
            guard try isLast(frame.payload) else { continue }
            if ends { try client.send(Frame(.cancel, stream: call.stream)) }
            return messages
        }
    }
}
