// Every message as libprotobuf-c reads and writes it: what our own encoders are held to.

import CCumulusAnswers
import CCumulusWire
import CumulusModel
import CumulusTesting

enum LibraryCodec {
    typealias Unpack<Raw> =
        @Sendable (
            UnsafeMutablePointer<ProtobufCAllocator>?, Int, UnsafePointer<UInt8>?
        ) -> UnsafeMutablePointer<Raw>?
    /// Decodes a message and encodes it again; nil if it can't be decoded.
    typealias Repack = @Sendable (Bytes) -> Bytes?

    static let messages: [String: Repack] = [
        "ChangePasswordRequest": repack(cumulus__v1__change_password_request__unpack),
        "ChangePasswordResponse": repack(cumulus__v1__change_password_response__unpack),
        "RegisterRequest": repack(cumulus__v1__register_request__unpack),
        "RegisterResponse": repack(cumulus__v1__register_response__unpack),
        "RevokeSessionsRequest": repack(cumulus__v1__revoke_sessions_request__unpack),
        "RevokeSessionsResponse": repack(cumulus__v1__revoke_sessions_response__unpack),
        "SessionsRequest": repack(cumulus__v1__sessions_request__unpack),
        "SessionsResponse": repack(cumulus__v1__sessions_response__unpack),
        "SetPasswordRequest": repack(cumulus__v1__set_password_request__unpack),
        "SetPasswordResponse": repack(cumulus__v1__set_password_response__unpack),
        "SetUserStateRequest": repack(cumulus__v1__set_user_state_request__unpack),
        "SetUserStateResponse": repack(cumulus__v1__set_user_state_response__unpack),
        "ListOperatorsRequest": repack(cumulus__v1__list_operators_request__unpack),
        "ListOperatorsResponse": repack(cumulus__v1__list_operators_response__unpack),
        "AddOperatorRequest": repack(cumulus__v1__add_operator_request__unpack),
        "AddOperatorResponse": repack(cumulus__v1__add_operator_response__unpack),
        "RemoveOperatorRequest": repack(cumulus__v1__remove_operator_request__unpack),
        "RemoveOperatorResponse": repack(cumulus__v1__remove_operator_response__unpack),
        "DeleteContainerRequest": repack(cumulus__v1__delete_container_request__unpack),
        "DeleteContainerResponse": repack(cumulus__v1__delete_container_response__unpack),
        "DeleteUserRequest": repack(cumulus__v1__delete_user_request__unpack),
        "DeleteUserResponse": repack(cumulus__v1__delete_user_response__unpack),
        "SignInRequest": repack(cumulus__v1__sign_in_request__unpack),
        "SignInResponse": repack(cumulus__v1__sign_in_response__unpack),
        "ProfileRequest": repack(cumulus__v1__profile_request__unpack),
        "ProfileResponse": repack(cumulus__v1__profile_response__unpack),
        "SetProfileRequest": repack(cumulus__v1__set_profile_request__unpack),
        "SetProfileResponse": repack(cumulus__v1__set_profile_response__unpack),
        "DiscoverRequest": repack(cumulus__v1__discover_request__unpack),
        "DiscoverResponse": repack(cumulus__v1__discover_response__unpack),
        "SetHandleRequest": repack(cumulus__v1__set_handle_request__unpack),
        "SetHandleResponse": repack(cumulus__v1__set_handle_response__unpack),
        "ListKeysRequest": repack(cumulus__v1__list_keys_request__unpack),
        "ListKeysResponse": repack(cumulus__v1__list_keys_response__unpack),
        "AddKeyRequest": repack(cumulus__v1__add_key_request__unpack),
        "AddKeyResponse": repack(cumulus__v1__add_key_response__unpack),
        "RevokeKeyRequest": repack(cumulus__v1__revoke_key_request__unpack),
        "RevokeKeyResponse": repack(cumulus__v1__revoke_key_response__unpack),
        "MakeResetLinkRequest": repack(cumulus__v1__make_reset_link_request__unpack),
        "MakeResetLinkResponse": repack(cumulus__v1__make_reset_link_response__unpack),
        "ResetPasswordRequest": repack(cumulus__v1__reset_password_request__unpack),
        "ResetPasswordResponse": repack(cumulus__v1__reset_password_response__unpack),
        "ListWebAppsRequest": repack(cumulus__v1__list_web_apps_request__unpack),
        "ListWebAppsResponse": repack(cumulus__v1__list_web_apps_response__unpack),
        "SetWebAppRequest": repack(cumulus__v1__set_web_app_request__unpack),
        "SetWebAppResponse": repack(cumulus__v1__set_web_app_response__unpack),
        "RemoveWebAppRequest": repack(cumulus__v1__remove_web_app_request__unpack),
        "RemoveWebAppResponse": repack(cumulus__v1__remove_web_app_response__unpack),
        "AcceptShareRequest": repack(cumulus__v1__accept_share_request__unpack),
        "AcceptShareResponse": repack(cumulus__v1__accept_share_response__unpack),
        "ListSharesRequest": repack(cumulus__v1__list_shares_request__unpack),
        "ListSharesResponse": repack(cumulus__v1__list_shares_response__unpack),
        "StopShareRequest": repack(cumulus__v1__stop_share_request__unpack),
        "StopShareResponse": repack(cumulus__v1__stop_share_response__unpack),
        "LookUpParticipantsRequest": repack(
            cumulus__v1__look_up_participants_request__unpack
        ),
        "LookUpParticipantsResponse": repack(
            cumulus__v1__look_up_participants_response__unpack
        ),
        "ShareMetadataRequest": repack(cumulus__v1__share_metadata_request__unpack),
        "ShareMetadataResponse": repack(cumulus__v1__share_metadata_response__unpack),
        "AddTokenRequest": repack(cumulus__v1__add_token_request__unpack),
        "AddTokenResponse": repack(cumulus__v1__add_token_response__unpack),
        "AddUserRequest": repack(cumulus__v1__add_user_request__unpack),
        "AddUserResponse": repack(cumulus__v1__add_user_response__unpack),
        "BackUpRequest": repack(cumulus__v1__back_up_request__unpack),
        "BackUpResponse": repack(cumulus__v1__back_up_response__unpack),
        "Chunks": repack(cumulus__v1__chunks__unpack),
        "DownloadAssetRequest": repack(cumulus__v1__download_asset_request__unpack),
        "DownloadAssetResponse": repack(cumulus__v1__download_asset_response__unpack),
        "PeerAssetRequest": repack(cumulus__v1__peer_asset_request__unpack),
        "WantedAssetsRequest": repack(cumulus__v1__wanted_assets_request__unpack),
        "WantedAssetsResponse": repack(cumulus__v1__wanted_assets_response__unpack),
        "PrepareAssetsRequest": repack(cumulus__v1__prepare_assets_request__unpack),
        "PrepareAssetsResponse": repack(cumulus__v1__prepare_assets_response__unpack),
        "UploadChunksRequest": repack(cumulus__v1__upload_chunks_request__unpack),
        "UploadChunksResponse": repack(cumulus__v1__upload_chunks_response__unpack),
        "CallHeader": repack(cumulus__v1__call_header__unpack),
        "Commit": repack(cumulus__v1__commit__unpack),
        "CreateContainerRequest": repack(cumulus__v1__create_container_request__unpack),
        "CreateContainerResponse": repack(cumulus__v1__create_container_response__unpack),
        "DeploySchemaRequest": repack(cumulus__v1__deploy_schema_request__unpack),
        "DeploySchemaResponse": repack(cumulus__v1__deploy_schema_response__unpack),
        "Drain": repack(cumulus__v1__drain__unpack),
        "FetchDatabaseChangesRequest": repack(
            cumulus__v1__fetch_database_changes_request__unpack
        ),
        "FetchDatabaseChangesResponse": repack(
            cumulus__v1__fetch_database_changes_response__unpack
        ),
        "FetchRecordsRequest": repack(cumulus__v1__fetch_records_request__unpack),
        "FetchRecordsResponse": repack(cumulus__v1__fetch_records_response__unpack),
        "FetchZoneChangesRequest": repack(cumulus__v1__fetch_zone_changes_request__unpack),
        "FetchZoneChangesResponse": repack(cumulus__v1__fetch_zone_changes_response__unpack),
        "FetchSubscriptionsRequest": repack(cumulus__v1__fetch_subscriptions_request__unpack),
        "FetchSubscriptionsResponse": repack(
            cumulus__v1__fetch_subscriptions_response__unpack
        ),
        "ListUserSubscriptionsRequest": repack(
            cumulus__v1__list_user_subscriptions_request__unpack
        ),
        "ListUserSubscriptionsResponse": repack(
            cumulus__v1__list_user_subscriptions_response__unpack
        ),
        "EndSubscriptionsRequest": repack(cumulus__v1__end_subscriptions_request__unpack),
        "EndSubscriptionsResponse": repack(cumulus__v1__end_subscriptions_response__unpack),
        "ModifySubscriptionsRequest": repack(
            cumulus__v1__modify_subscriptions_request__unpack
        ),
        "ModifySubscriptionsResponse": repack(
            cumulus__v1__modify_subscriptions_response__unpack
        ),
        "FetchZonesRequest": repack(cumulus__v1__fetch_zones_request__unpack),
        "FetchZonesResponse": repack(cumulus__v1__fetch_zones_response__unpack),
        "RegisterPushRequest": repack(cumulus__v1__register_push_request__unpack),
        "RegisterPushResponse": repack(cumulus__v1__register_push_response__unpack),
        "ListPushesRequest": repack(cumulus__v1__list_pushes_request__unpack),
        "ListPushesResponse": repack(cumulus__v1__list_pushes_response__unpack),
        "EndPushesRequest": repack(cumulus__v1__end_pushes_request__unpack),
        "EndPushesResponse": repack(cumulus__v1__end_pushes_response__unpack),
        "PushServicesRequest": repack(cumulus__v1__push_services_request__unpack),
        "PushServicesResponse": repack(cumulus__v1__push_services_response__unpack),
        "FeedPage": repack(cumulus__v1__feed_page__unpack),
        "FollowFeedRequest": repack(cumulus__v1__follow_feed_request__unpack),
        "MarkReadRequest": repack(cumulus__v1__mark_read_request__unpack),
        "MarkReadResponse": repack(cumulus__v1__mark_read_response__unpack),
        "Field": repack(cumulus__v1__field__unpack),
        "Hello": repack(cumulus__v1__hello__unpack),
        "IndexesRequest": repack(cumulus__v1__indexes_request__unpack),
        "IndexesResponse": repack(cumulus__v1__indexes_response__unpack),
        "ImportSchemaRequest": repack(cumulus__v1__import_schema_request__unpack),
        "ImportSchemaResponse": repack(cumulus__v1__import_schema_response__unpack),
        "LeaveRequest": repack(cumulus__v1__leave_request__unpack),
        "LeaveResponse": repack(cumulus__v1__leave_response__unpack),
        "ListConflictsRequest": repack(cumulus__v1__list_conflicts_request__unpack),
        "ListConflictsResponse": repack(cumulus__v1__list_conflicts_response__unpack),
        "ListContainersRequest": repack(cumulus__v1__list_containers_request__unpack),
        "ListContainersResponse": repack(cumulus__v1__list_containers_response__unpack),
        "ListRecordsRequest": repack(cumulus__v1__list_records_request__unpack),
        "ListRecordsResponse": repack(cumulus__v1__list_records_response__unpack),
        "ListUsersRequest": repack(cumulus__v1__list_users_request__unpack),
        "ListUsersResponse": repack(cumulus__v1__list_users_response__unpack),
        "ListZonesRequest": repack(cumulus__v1__list_zones_request__unpack),
        "ListZonesResponse": repack(cumulus__v1__list_zones_response__unpack),
        "ModifyRecordsRequest": repack(cumulus__v1__modify_records_request__unpack),
        "ModifyRecordsResponse": repack(cumulus__v1__modify_records_response__unpack),
        "ModifyZonesRequest": repack(cumulus__v1__modify_zones_request__unpack),
        "ModifyZonesResponse": repack(cumulus__v1__modify_zones_response__unpack),
        "MetricsRequest": repack(cumulus__v1__metrics_request__unpack),
        "MetricsResponse": repack(cumulus__v1__metrics_response__unpack),
        "NodeStatusRequest": repack(cumulus__v1__node_status_request__unpack),
        "NodeStatusResponse": repack(cumulus__v1__node_status_response__unpack),
        "PullRequest": repack(cumulus__v1__pull_request__unpack),
        "PullResponse": repack(cumulus__v1__pull_response__unpack),
        "RescueRequest": repack(cumulus__v1__rescue_request__unpack),
        "RescueResponse": repack(cumulus__v1__rescue_response__unpack),
        "ZoneStatusRequest": repack(cumulus__v1__zone_status_request__unpack),
        "ZoneStatusResponse": repack(cumulus__v1__zone_status_response__unpack),
        "ListMembersRequest": repack(cumulus__v1__list_members_request__unpack),
        "ListMembersResponse": repack(cumulus__v1__list_members_response__unpack),
        "RemoveMemberRequest": repack(cumulus__v1__remove_member_request__unpack),
        "RemoveMemberResponse": repack(cumulus__v1__remove_member_response__unpack),
        "ReportRequest": repack(cumulus__v1__report_request__unpack),
        "ReportResponse": repack(cumulus__v1__report_response__unpack),
        "StateRequest": repack(cumulus__v1__state_request__unpack),
        "StateResponse": repack(cumulus__v1__state_response__unpack),
        "QueryRecordsRequest": repack(cumulus__v1__query_records_request__unpack),
        "QueryRecordsResponse": repack(cumulus__v1__query_records_response__unpack),
        "ReadSchemaRequest": repack(cumulus__v1__read_schema_request__unpack),
        "ReadSchemaResponse": repack(cumulus__v1__read_schema_response__unpack),
        "ResetSchemaRequest": repack(cumulus__v1__reset_schema_request__unpack),
        "ResetSchemaResponse": repack(cumulus__v1__reset_schema_response__unpack),
        "SetRoleRequest": repack(cumulus__v1__set_role_request__unpack),
        "SetRoleResponse": repack(cumulus__v1__set_role_response__unpack),
        "ListRolesRequest": repack(cumulus__v1__list_roles_request__unpack),
        "ListRolesResponse": repack(cumulus__v1__list_roles_response__unpack),
        "Record": repack(cumulus__v1__record__unpack),
        "ServerHello": repack(cumulus__v1__server_hello__unpack),
        "Status": repack(cumulus__v1__status__unpack),
        "ListMergePoliciesRequest": repack(cumulus__v1__list_merge_policies_request__unpack),
        "ListMergePoliciesResponse": repack(cumulus__v1__list_merge_policies_response__unpack),
        "SetMergePolicyRequest": repack(cumulus__v1__set_merge_policy_request__unpack),
        "SetMergePolicyResponse": repack(cumulus__v1__set_merge_policy_response__unpack),
        "TruncateRequest": repack(cumulus__v1__truncate_request__unpack),
        "TruncateResponse": repack(cumulus__v1__truncate_response__unpack),
        "VerifyRequest": repack(cumulus__v1__verify_request__unpack),
        "VerifyResponse": repack(cumulus__v1__verify_response__unpack),
        "WhoAmIRequest": repack(cumulus__v1__who_am_irequest__unpack),
        "WhoAmIResponse": repack(cumulus__v1__who_am_iresponse__unpack),
    ]

    /// `ModifyRecordsRequest` as the node reads it.
    static let nodeModifyRecordsRequest = repack(
        cumulus__v1__node_modify_records_request__unpack
    )

    private static func repack<Raw>(_ unpack: @escaping Unpack<Raw>) -> Repack {
        { bytes in
            guard let raw = unpack(nil, bytes.count, bytes) else { return nil }
            let message = UnsafeMutableRawPointer(raw)
                .assumingMemoryBound(to: ProtobufCMessage.self)
            defer { protobuf_c_message_free_unpacked(message, nil) }
            var packed = Bytes(repeating: 0, count: protobuf_c_message_get_packed_size(message))
            let count = packed.withUnsafeMutableBufferPointer { buffer in
                protobuf_c_message_pack(message, buffer.baseAddress)
            }
            return Bytes(packed.prefix(count))
        }
    }
}
