// The names of CloudKit's first years that have newer ones.
//
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// The old name of `CKRecord.SystemType.userRecord`.
public let CKRecordTypeUserRecord = CKRecord.SystemType.userRecord
/// The old name of `CKRecord.SystemFieldKey.recordID`.
public let CKRecordRecordIDKey = CKRecord.SystemFieldKey.recordID
/// The old name of `CKRecord.SystemFieldKey.creationDate`.
public let CKRecordCreationDateKey = CKRecord.SystemFieldKey.creationDate
/// The old name of `CKRecord.SystemFieldKey.modificationDate`.
public let CKRecordModificationDateKey = CKRecord.SystemFieldKey.modificationDate
/// The old name of `CKRecord.SystemFieldKey.creatorUserRecordID`.
public let CKRecordCreatorUserRecordIDKey = CKRecord.SystemFieldKey.creatorUserRecordID
/// The old name of `CKRecord.SystemFieldKey.lastModifiedUserRecordID`.
public let CKRecordLastModifiedUserRecordIDKey = CKRecord.SystemFieldKey
    .lastModifiedUserRecordID
/// The old name of `CKRecord.SystemFieldKey.parent`.
public let CKRecordParentKey = CKRecord.SystemFieldKey.parent
/// The old name of `CKRecord.SystemFieldKey.share`.
public let CKRecordShareKey = CKRecord.SystemFieldKey.share

/// The old name of `CKRecord.SystemType.share`.
public let CKRecordTypeShare = CKRecord.SystemType.share
/// The old name of `CKShare.SystemFieldKey.title`.
public let CKShareTitleKey = CKShare.SystemFieldKey.title
/// The old name of `CKShare.SystemFieldKey.thumbnailImageData`.
public let CKShareThumbnailImageDataKey = CKShare.SystemFieldKey.thumbnailImageData
/// The old name of `CKShare.SystemFieldKey.shareType`.
public let CKShareTypeKey = CKShare.SystemFieldKey.shareType

/// The old name of `CKQueryOperation.maximumResults`.
public let CKQueryOperationMaximumResults = CKQueryOperation.maximumResults

/// What `CKShare.ParticipantType` was called.
public typealias CKShareParticipantType = CKShare.ParticipantType
/// What `CKQuerySubscription.Options` was called.
public typealias CKQuerySubscriptionOptions = CKQuerySubscription.Options
/// What `CKSubscription.SubscriptionType` was called.
public typealias CKSubscriptionType = CKSubscription.SubscriptionType
/// What `CKDatabase.Scope` was called.
public typealias CKDatabaseScope = CKDatabase.Scope
/// What `CKRecordZone.Capabilities` was called.
public typealias CKRecordZoneCapabilities = CKRecordZone.Capabilities
/// What `CKError.Code` was called.
public typealias CKErrorCode = CKError.Code
/// What `CKFetchRecordZoneChangesOperation.ZoneConfiguration` was called.
public typealias CKFetchRecordZoneChangesOptions = CKFetchRecordZoneChangesConfiguration
/// What `CKOperationGroup.TransferSize` was called.
public typealias CKOperationGroupTransferSize = CKOperationGroup.TransferSize

/// What `CKNotification.NotificationType` was called.
public typealias CKNotificationType = CKNotification.NotificationType
/// What `CKQueryNotification.Reason` was called.
public typealias CKQueryNotificationReason = CKQueryNotification.Reason
/// What `CKContainer.ApplicationPermissions` was called.
public typealias CKApplicationPermissions = CKContainer.ApplicationPermissions
/// What `CKContainer.ApplicationPermissionStatus` was called.
public typealias CKApplicationPermissionStatus = CKContainer.ApplicationPermissionStatus

/// What `CKContainer.ApplicationPermissions` was called.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions
/// What `CKContainer.ApplicationPermissionStatus` was called.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus
/// What `CKContainer.ApplicationPermissionBlock` was called.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock
/// What `CKRecord.ReferenceAction` was called.
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction
/// What `CKShare.ParticipantAcceptanceStatus` was called.
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
/// What `CKShare.ParticipantPermission` was called.
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission
/// What `CKShare.ParticipantRole` was called.
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_Role = CKShare.ParticipantRole
/// What `CKShare.ParticipantType` was called.
@available(*, deprecated, renamed: "CKShare.ParticipantType")
public typealias CKShare_Participant_ParticipantType = CKShare.ParticipantType
