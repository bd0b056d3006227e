// While a batch is flushed the writer runs the next one, and nobody learns of anything too soon.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Foundation
import Synchronization
import Testing

@testable import CumulusNode

@Suite(.serialized) struct FlusherTests {
    @Test func theNextBatchIsRunAndNotWrittenWhileTheLastIsFlushed() throws {
        let writer = try SteppedWriter()
        let rows = writer.beginSecondFlush(before: true)
        #expect(writer.comes { $0.hasRun == [1, 2, 3] })
        Thread.sleep(forTimeInterval: 0.02)
        #expect(writer.engine.rowsWritten == rows)
        #expect(writer.state.told == [1])
        #expect(try writer.shows(1) && !writer.shows(2))

        writer.steps.letPass()
        writer.steps.waitForFlush()
        #expect(writer.engine.rowsWritten > rows)
        #expect(writer.state.told == [1, 2])
        #expect(try writer.shows(2) && !writer.shows(3))

        writer.steps.letPass()
        #expect(writer.comes { $0.told == [1, 2, 3] })
        writer.gate.stop()
    }

    /// It may rest on what the batch before it did.
    @Test func whatChangesNothingIsToldAfterTheFlushBeforeIt() throws {
        let writer = try SteppedWriter()
        _ = writer.beginSecondFlush(before: false)
        #expect(writer.comes { $0.hasRun == [1, 2, 3] })
        Thread.sleep(forTimeInterval: 0.02)
        #expect(writer.state.told == [1])
        writer.steps.letPass()
        #expect(writer.comes { $0.told == [1, 2, 3] })
        writer.gate.stop()
    }

    @Test func nobodyIsToldOfWhatCouldNotBeFlushed() throws {
        let writer = try SteppedWriter()
        _ = writer.beginSecondFlush(before: true)
        writer.engine.failFlushes(.failed("no flush"))
        writer.steps.letPass()
        #expect(writer.comes { !$0.said.isEmpty })
        writer.steps.letPass()
        writer.gate.stop()
        #expect(writer.state.said.first?.contains("no flush") == true)
        #expect(writer.state.told == [1])
        #expect(try !writer.shows(2) && !writer.shows(3))
    }
}

/// A writer whose jobs make a scope each, in a batch each, and whose flushes pass one by one.
private final class SteppedWriter: Sendable {
    struct State: Sendable {
        var hasRun: [Int] = []
        var told: [Int] = []
        /// The last words of the process.
        var said: [String] = []
    }

    private final class Notes: Sendable {
        let state = Mutex(State())

        func add(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }
    }

    let engine = CountingEngine()
    let steps = FlushSteps()
    let gate: StoreGate
    private let notes = Notes()

    init() throws {
        var environment = TestServer.environment
        environment.fail = { [notes] reason in notes.add { $0.said.append(reason) } }
        var configuration = Node.Configuration(
            version: Release.version,
            container: TestServer.container,
            operatorToken: [1]
        )
        configuration.limits.writesPerBatch = 1
        gate = try Node(configuration, engine: engine, environment: environment).gate
        engine.hold(steps)
        gate.start(readers: 1)
    }

    /// Has the first job done, and the second one flushed while a third waits, which changes
    /// something or nothing.
    ///
    /// Returns how many rows were written by then.
    func beginSecondFlush(before isChange: Bool) -> Int {
        submit(1)
        steps.waitForFlush()
        submit(2)
        submit(3, changes: isChange)
        steps.letPass()
        steps.waitForFlush()
        return engine.rowsWritten
    }

    private func submit(_ number: Int, changes: Bool = true) {
        let scope = SteppedWriter.scope(number)
        let job = StoreGate.Job(.commits) { [notes] transaction throws(EngineError) in
            notes.add { $0.hasRun.append(number) }
            if changes { _ = try transaction.makeScope(scope) }
        } then: { [notes] outcome in
            if case .success = outcome { notes.add { $0.told.append(number) } }
        }
        _ = gate.submit(StoreGate.QueuedWrite(job, byteCount: 0, loop: InPlaceLoop.shared))
    }

    private static func scope(_ number: Int) -> ScopeID {
        ScopeID(container: "c\(number)", environment: .development)
    }

    /// Whether callers see what a job changed.
    func shows(_ number: Int) throws -> Bool {
        try gate.latest(reach: .disk).scope(SteppedWriter.scope(number)) != nil
    }

    var state: State { notes.state.withLock { $0 } }

    /// Whether that is so within a while.
    func comes(_ isSo: (State) -> Bool) -> Bool {
        let end = Date(timeIntervalSinceNow: 20)
        while !isSo(state) {
            if Date() > end { return false }
            Thread.sleep(forTimeInterval: 0.001)
        }
        return true
    }
}
