// The numbers and names that apps store and compare are CloudKit's.

import CloudKit
import Foundation
import Testing

@Suite struct NumbersTests {
    @Test func errorsHaveCloudKitsNumbers() {
        #expect(CKError.Code.allCases.map(\.rawValue) == Array(1...37))
        let some: [CKError.Code] = [
            .partialFailure, .notAuthenticated, .unknownItem, .invalidArguments,
            .serverRecordChanged, .changeTokenExpired, .zoneNotFound, .limitExceeded,
            .participantAlreadyInvited,
        ]
        #expect(some.map(\.rawValue) == [2, 9, 11, 12, 14, 21, 26, 27, 37])
        #expect(CKErrorDomain == "CKErrorDomain" && CKErrorRetryAfterKey == "CKRetryAfter")
        let error = CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: 2.5])
        #expect((error as NSError).code == 23 && (error as NSError).domain == CKErrorDomain)
        #expect(error.retryAfterSeconds == 2.5)
    }

    @Test func casesHaveCloudKitsNumbers() {
        #expect(CKDatabase.Scope.public.rawValue == 1 && CKDatabase.Scope.shared.rawValue == 3)
        #expect(CKAccountStatus.noAccount.rawValue == 3)
        #expect(CKAccountStatus.temporarilyUnavailable.rawValue == 4)
        #expect(CKRecord.ReferenceAction.deleteSelf.rawValue == 1)
        #expect(CKModifyRecordsOperation.RecordSavePolicy.allKeys.rawValue == 2)
        #expect(CKSubscription.SubscriptionType.database.rawValue == 3)
        #expect(CKQuerySubscription.Options.firesOnce.rawValue == 8)
        #expect(CKNotification.NotificationType.database.rawValue == 4)
        #expect(CKQueryNotification.Reason.recordDeleted.rawValue == 3)
        #expect(CKContainer.ApplicationPermissionStatus.granted.rawValue == 3)
        #expect(CKDatabase.DatabaseChange.Deletion.Reason.encryptedDataReset.rawValue == 2)
        #expect(CKSyncEngine.SyncReason.manual.rawValue == 1)
        #expect(CKOperationGroup.TransferSize.hundredsOfGigabytes.rawValue == 7)
        #expect(CKQueryOperation.maximumResults == 0)
    }

    @Test func namesAreThoseOfCloudKit() {
        #expect(CKRecordZone.ID.default.zoneName == "_defaultZone")
        #expect(CKRecordZone.default().zoneID == .default)
        #expect(CKRecordZone.ID(zoneName: "Trips").ownerName == CKCurrentUserDefaultName)
        #expect(CKCurrentUserDefaultName == "__defaultOwner__")
        #expect(CKRecord.SystemType.userRecord == "Users")
        #expect(Notification.Name.CKAccountChanged.rawValue == "CKAccountChangedNotification")
        #expect(CKRecordTypeUserRecord == "Users" && CKOwnerDefaultName == "__defaultOwner__")
    }

    /// The names of the first years are the same types.
    @Test func oldNamesAreTheNewTypes() {
        #expect(CKRecordID.self == CKRecord.ID.self && CKReference.self == CKRecord.Reference.self)
        #expect(CKRecordZoneID.self == CKRecordZone.ID.self)
        #expect(CKQueryCursor.self == CKQueryOperation.Cursor.self)
        #expect(CKNotificationID.self == CKNotification.ID.self)
        #expect(CKNotificationInfo.self == CKSubscription.NotificationInfo.self)
        #expect(CKOperationConfiguration.self == CKOperation.Configuration.self)
        #expect(CKDatabaseScope.self == CKDatabase.Scope.self)
        #expect(CKReferenceAction.self == CKRecord.ReferenceAction.self)
        #expect(CKRecordSavePolicy.self == CKModifyRecordsOperation.RecordSavePolicy.self)
        #expect(CKSubscriptionType.self == CKSubscription.SubscriptionType.self)
        #expect(CKQuerySubscriptionOptions.self == CKQuerySubscription.Options.self)
        #expect(CKNotificationType.self == CKNotification.NotificationType.self)
        #expect(CKQueryNotificationReason.self == CKQueryNotification.Reason.self)
        #expect(CKUserIdentityLookupInfo.self == CKUserIdentity.LookupInfo.self)
        #expect(CKApplicationPermissions.self == CKContainer.ApplicationPermissions.self)
        #expect(CKErrorCode.self == CKError.Code.self)
    }

    /// An operation waits to be added: until then it neither runs nor has ended.
    @Test func operationsAreReadyWhenTheyAreMade() {
        let operations: [CKOperation] = [
            CKFetchRecordsOperation.fetchCurrentUserRecordOperation(), CKModifyRecordsOperation(),
            CKFetchRecordZonesOperation.fetchAllRecordZonesOperation(),
            CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation(),
            CKModifyBadgeOperation(badgeValue: 1), CKDiscoverAllUserIdentitiesOperation(),
        ]
        #expect(operations.allSatisfy { $0.isReady && !$0.isFinished && $0.isAsynchronous })
        #expect(Set(operations.map(\.operationID)).count == operations.count)
    }

    /// An operation and a group keep copies of a configuration.
    @Test func configurationsAreCopied() {
        let shared = CKOperation.Configuration()
        let (one, other, group) = (CKQueryOperation(), CKQueryOperation(), CKOperationGroup())
        one.configuration = shared
        other.configuration = shared
        group.defaultConfiguration = shared
        shared.isLongLived = true
        one.configuration.timeoutIntervalForRequest = 3
        #expect(!one.isLongLived && one.timeoutIntervalForRequest == 3)
        #expect(other.timeoutIntervalForRequest == 60)
        #expect(!group.defaultConfiguration.isLongLived)
        other.configuration = nil
        #expect(other.configuration.timeoutIntervalForResource == 604_800)
    }
}
