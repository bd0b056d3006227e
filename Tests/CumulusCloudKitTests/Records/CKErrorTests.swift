// Errors as apps catch them: by code, as `NSError`, and with what they carry.

import CumulusCloudKit
import CumulusModel
import Foundation
import Testing

@testable import CumulusCloudKit

@Suite struct CKErrorTests {
    private func fail(_ code: CKError.Code) throws {
        throw CKError(code, userInfo: [NSLocalizedDescriptionKey: "why"])
    }

    @Test func errorsAreCaughtByTheirCodes() throws {
        do {
            try fail(.unknownItem)
            Issue.record("nothing was thrown")
        } catch CKError.zoneNotFound {
            Issue.record("another code matched")
        } catch CKError.unknownItem {
        }
        do {
            try fail(.zoneBusy)
        } catch let error as CKError where error.code == .zoneBusy {
            #expect(error.localizedDescription == "why" && error.errorCode == 23)
        }
        let error: any Error = CKError(.quotaExceeded)
        let object = error as NSError
        #expect(object.domain == CKErrorDomain && object.code == 25)
        #expect(CKError.Code(rawValue: 25) == .quotaExceeded)
        #expect(CKError.Code.allCases.count == 37)
    }

    @Test func everyErrorOfTheClientHasItsCode() {
        for code in ServiceError.Code.allCases {
            let error = CKError(ServiceError(code, "why"))
            #expect(
                error.code.rawValue == Int(code.rawValue) && error.localizedDescription == "why"
            )
        }
        var busy = ServiceError(.requestRateLimited, "wait")
        busy.retryAfterMilliseconds = 1_500
        #expect(CKError(busy).retryAfterSeconds == 1.5)
        let seconds = CKError(busy).userInfo[CKErrorRetryAfterKey]
        #expect(seconds as? NSNumber == 1.5 && seconds as? TimeInterval == 1.5)
        #expect(CKError(any: CancellationError()).code == .operationCancelled)
    }

    @Test func aConflictCarriesThreeRecords() throws {
        let client = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
        var server = Record(recordType: "Note", recordID: Record.ID(recordName: "n"))
        server["title"] = "theirs"
        var conflict = ServiceError(.serverRecordChanged, "changed")
        conflict.serverRecord = server
        let error = CKError(conflict, saving: client)
        #expect(error.serverRecord?["title"] as? String == "theirs")
        #expect(error.clientRecord === client && error.ancestorRecord == nil)
    }

    @Test func partialErrorsAreFoundByTheirItems() throws {
        let id = CKRecord.ID(recordName: "n")
        let error = try #require(CKError.partial([id: CKError(.unknownItem)]))
        let found = error.partialErrorsByItemID?[CKRecord.ID(recordName: "n")] as? CKError
        #expect(error.code == .partialFailure && found?.code == .unknownItem)
        #expect(CKError.partial([:]) == nil)
    }
}
