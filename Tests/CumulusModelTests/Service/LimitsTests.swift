// How the limits must relate to each other, whatever their values.

import CumulusModel
import Testing

@Suite struct LimitsTests {
    private let limits = Limits.standard

    @Test func cloudKitsLimitsAreKept() {
        #expect(limits.itemsPerRequest == 400)
        #expect(limits.requestBytes == 2_097_152)
        #expect(limits.recordBytes == 1_048_576)
        #expect(limits.nameBytes == 255)
        #expect(limits.fieldsPerType == 256)
        #expect(limits.ownersPerRecord == 750)
    }

    @Test func aRecordFitsIntoARequestAndARequestIntoAFrame() {
        #expect(limits.recordBytes < limits.requestBytes)
        #expect(limits.requestBytes < limits.frameBytes)
        // An answer may hold one record more than its limit, beside names and system fields.
        #expect(limits.answerBytes + limits.recordBytes + 64 << 10 < limits.frameBytes)
    }

    @Test func limitsThatContradictEachOtherAreNamed() {
        var limits = limits
        #expect(limits.contradiction == nil)
        limits.nodeUnansweredBytes = 5
        #expect(limits.contradiction?.contains("nodeUnansweredBytes (5)") == true)
    }

    /// Else a device that comes back after a day would be refused what it is there for.
    @Test func aCallerThatRestedMayFillAConnection() {
        let caller = CallerLimits.standard
        #expect(caller.callsBurst >= caller.callsPerSecond)
        #expect(caller.bytesBurst >= limits.unansweredBytes)
        #expect(caller.callsAtOnce < limits.streamsPerConnection)
        // Tests and simulations ask for limits, or have none.
        #expect(limits.perCaller == .none)
    }

    @Test func allFieldsOfATypeMayHaveTheLongestNames() {
        #expect(limits.fieldsPerType * (limits.nameBytes + 16) < limits.recordBytes)
    }

    @Test func whatOneCallMayHoldFitsIntoWhatAConnectionMay() {
        #expect(limits.frameBytes <= limits.unansweredBytes)
        #expect(limits.unansweredBytes <= limits.nodeUnansweredBytes)
        #expect(limits.pageBytes <= limits.answerBytes)
    }

    @Test func aBatchHoldsAtLeastOneLargestRequest() {
        #expect(limits.requestBytes <= limits.batchBytes)
        #expect(limits.writesPerBatch <= limits.queuedWrites)
    }

    @Test func requestsAreRememberedLongerThanTheyMayLast() {
        #expect(limits.longestCallMilliseconds < limits.requestMemoryMilliseconds)
        #expect(limits.callMilliseconds <= limits.longestCallMilliseconds)
        #expect(limits.requestLeadMilliseconds < limits.requestMemoryMilliseconds)
    }
}
