/// Certificates and keys for tests of code signing. They were made by OpenSSL and are valid for a hundred years from 2026.
package enum CodeSigningKeys {
    /// Signs code itself.
    package static let publisher = """
        -----BEGIN CERTIFICATE-----
        MIIDMDCCAhigAwIBAgIUC8lcucqx1lKKzk9a1EYX5JNjwSAwDQYJKoZIhvcNAQEL
        BQAwFDESMBAGA1UEAwwJcHVibGlzaGVyMCAXDTI2MTEyOTAxMjc1NloYDzIxMjYx
        MTA1MDEyNzU2WjAUMRIwEAYDVQQDDAlwdWJsaXNoZXIwggEiMA0GCSqGSIb3DQEB
        AQUAA4IBDwAwggEKAoIBAQDAGYeeMca322414Bg2h1JVHLZUyBL1tBwVU+guZGZl
        aIwxHhgygHQb18TWllKK3UXf5z2vvv86CBfvmeR19Ce7sggV6MCr751ulaN/XGOH
        mLWtWpgSp2/WjJAo0NZ65aR8ouq5b4xHN+K3M2A8I+1f6kL6NbiidItQ2s579kdc
        ka9WnsjALfiQnpYRGSgmJMdpvsgjVIWWjbAFEihLysdYKX6PFqstdDT+v1g2Q2+y
        G3BBiX2Xti+7PMZm85zdhF2t2Z2U52FvPZbb8GkAgFqj45d4PumKO+ULJKwiCLJM
        CtTIe1lN/ZtthIC28PbnHCQ3RGSKiaI9rrXWdKGlxC8FAgMBAAGjeDB2MB0GA1Ud
        DgQWBBTeT7FnsJiX1lnMRJdHBx+lwMngVTAfBgNVHSMEGDAWgBTeT7FnsJiX1lnM
        RJdHBx+lwMngVTAOBgNVHQ8BAf8EBAMCB4AwFgYDVR0lAQH/BAwwCgYIKwYBBQUH
        AwMwDAYDVR0TAQH/BAIwADANBgkqhkiG9w0BAQsFAAOCAQEAF9MzERTvVCufaoZ5
        B/AVQSwbQbKWnvLMfcEBwQk+MOc+mX1c6ECtPBeYQRRnNE89cZW2UFOkee7d/BGn
        98d6Sra5gysXf3dzNlIhOo1lYc9qWR+hdIXtSAhUQV+TVKFEdR7Qf7aqE3Hgvui2
        7iQv26Cn35OsGXvxzlelfYSuFLfp2pEB+FDuzhLsSyqc5LeGHKuff/qSdw4oRfGH
        hu/KypOqq9N01eGq/i+xUPPL0CpspQmUAVAADymYibF55Jxmq50n+OTu3n9NxpPq
        i7p2oadV96pBLu6v3JpABLtq7DjqKJm6CTklSL56G/jnAIB2UFs1KBf2B4qKrN8F
        dbBqxg==
        -----END CERTIFICATE-----
        """
    package static let publisherKey = """
        -----BEGIN PRIVATE KEY-----
        MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQDAGYeeMca32241
        4Bg2h1JVHLZUyBL1tBwVU+guZGZlaIwxHhgygHQb18TWllKK3UXf5z2vvv86CBfv
        meR19Ce7sggV6MCr751ulaN/XGOHmLWtWpgSp2/WjJAo0NZ65aR8ouq5b4xHN+K3
        M2A8I+1f6kL6NbiidItQ2s579kdcka9WnsjALfiQnpYRGSgmJMdpvsgjVIWWjbAF
        EihLysdYKX6PFqstdDT+v1g2Q2+yG3BBiX2Xti+7PMZm85zdhF2t2Z2U52FvPZbb
        8GkAgFqj45d4PumKO+ULJKwiCLJMCtTIe1lN/ZtthIC28PbnHCQ3RGSKiaI9rrXW
        dKGlxC8FAgMBAAECggEAAIDQncshlcpfBTMbZ8vTnQzLNCOmBmYSC22XK8VFjg8d
        DDqOSQDpzPI0E3UnWDJw2WpLULzeVvI90HnbDa1gYUR7yEWTePUoDhRu7jQkFUSC
        zVEcbt1ov0DKVouy1CA/3be2MlrRcj+k5Lf0u5OYg+oi13Gb6d5bnbrvqYbL9GPI
        JAjQvLE/m2ibAK8hvMus9felkcdWxk0NgknfrLVBolkqClghzcjSkGoJ/OTRV68J
        omHP+op8KQdficOkJjNON6SDbrT6hFrhr6+H4ZA3WGpsNyXVBmsJLQabNdQBxjv8
        zpv/bD2drgpwahPOGFHi7MczuJXS6xiJaxwziR9nbQKBgQDf/25VRf/UR0rKjhzN
        9mGFOiEeUyHg6L8+Bl/uaAw9cpNVeqzD1JM+PJbAlo7E8R7B1Z9cyNsclSFn1/V+
        iMeSh5RU7uqEs6P7BQefMlb02hSLhVkYMS0f1DZvEbEGyNoLcStGSnqqVL1UkLIp
        q7r7OGSsdZBe5gsA1BpH4+PlhwKBgQDbi3LniR1Kk5LPDnd/k47uNqnJfVIg/ZkL
        FfxY1e2/rLjfvyeR+QBB9nKOR4OZmiT33JWVGLo3KseCpBmWXYEEZE+cU9o6rpQU
        SGssldiCLJPyPmJUNK3yW4r3UiGVR+Uq385JVneglV6aOsu3q7+9IXsPY7Hs+ARe
        i557kr4qEwKBgCjVXJyo7REaifTQ4Ulej7qEtULc7sEcTLiW2ugQCaMt/tPHUDVG
        zCy9SNIE4DPgrLWzJqD4cJEOUo+mm7ccYh1BH/Y3s4LLaKo66X/I4ncyRiqE/Y/e
        bxZtThsDQ500AiOx1qyyqRfh6L3Avum/x49CYX/a0p2qG/ljsQLH9WSDAoGAZi4C
        7qwsS9dfTqsnBuOAdHJQl4ySOvSM1FIJPrdijgEvkkN/gTro2cqACqRSJZ1Oc2Xg
        4KG/mYl5jd4eYpNmRssBGnsUaJd0J/SEnR2oxP1GZkqOrS5PfysIBI/fPYFWsZu0
        gQGTb9PVUebnhbaT6My6X7FA0E+miPJmcpEbnK0CgYAM/nlVzyWCSRvWjysnquCG
        YxjC6hjKZECZsL4Hkq75YpG4k7Pfxgu/0/zuAuYCYmSUT+F5dBCv9T2PkjEjen1P
        lSPbBQNRFeDrUrbZK3lIJNZycraqdLBoqgUcwoYi1JzzsP0LA0fbtIsHiL60p505
        qS92CMhjirTlNm05GDvNpw==
        -----END PRIVATE KEY-----
        """
    /// Signs code, but is of someone else.
    package static let stranger = """
        -----BEGIN CERTIFICATE-----
        MIIDLjCCAhagAwIBAgIUA0mBV6s3xZj4mnovHErY45jZ+vIwDQYJKoZIhvcNAQEL
        BQAwEzERMA8GA1UEAwwIc3RyYW5nZXIwIBcNMjYxMTI5MDEyNzU2WhgPMjEyNjEx
        MDUwMTI3NTZaMBMxETAPBgNVBAMMCHN0cmFuZ2VyMIIBIjANBgkqhkiG9w0BAQEF
        AAOCAQ8AMIIBCgKCAQEAxq5zDV7Z/nYCj/HDs4zkyToRpbwBn76YwZzHwYcpwN3a
        GLRrMgZzlCG23tqQo68ilpkp9N9oxku0z28Jrvjg0Vj3HU2mEze4T93Oz+XVvrHC
        qcMC3g6FAB/O6r/8kH0cHKr54L8jnmRQBDV29UYb+wp/wonYk3QEui84uaQncarm
        sLLhER4hDyBrXykeb32Phc9mR+cg0agi1EebBg1G0aRBd4u02aJ8x+e1qD9pWq4z
        h87AjhiQWJnOkFNJf3k8lZssidMm0NtYPY/lJfDtfjdcLyKXX2mOdu9QM61eO9x5
        6ZPZr2vX25P3iBW6cdErcfEv7gMNszcDqqlbH8yVuwIDAQABo3gwdjAdBgNVHQ4E
        FgQUG/dLOOkmxOQFvNBTWJC+QO1LKVUwHwYDVR0jBBgwFoAUG/dLOOkmxOQFvNBT
        WJC+QO1LKVUwDgYDVR0PAQH/BAQDAgeAMBYGA1UdJQEB/wQMMAoGCCsGAQUFBwMD
        MAwGA1UdEwEB/wQCMAAwDQYJKoZIhvcNAQELBQADggEBAJLoC/ZTiqI7jMyC2Nev
        ncRt2sT74I6c4baWM/qsX85v9rYEScpVGR00K4trTGL29bCQiopFu5il2rARUpv0
        kaA71iTXQGKsFjauNxoX2t1tTtaYpf5Zvxi9oeBQFCT4quRfJNkkB89q+ZX/oJFS
        BkUrwEB+zYag5UksGXV1PacEr/D79TCdNUNFEbvQOeqQZezLBBwSSFIRKAOA44lY
        ES1UYzjpSyUNI1tDt7xH0zCHGbBK28CPB7xa66wt3MB1Y22p5Nxya2pq5nRKMqJo
        lv/2CP3mcCuAyfuLs4iUDrDTqzZ7q3pQIWqKecfW1ZAD5YrxjpOA73R0NiNa7WC7
        U8M=
        -----END CERTIFICATE-----
        """
    package static let strangerKey = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDGrnMNXtn+dgKP
        8cOzjOTJOhGlvAGfvpjBnMfBhynA3doYtGsyBnOUIbbe2pCjryKWmSn032jGS7TP
        bwmu+ODRWPcdTaYTN7hP3c7P5dW+scKpwwLeDoUAH87qv/yQfRwcqvngvyOeZFAE
        NXb1Rhv7Cn/CidiTdAS6Lzi5pCdxquawsuERHiEPIGtfKR5vfY+Fz2ZH5yDRqCLU
        R5sGDUbRpEF3i7TZonzH57WoP2larjOHzsCOGJBYmc6QU0l/eTyVmyyJ0ybQ21g9
        j+Ul8O1+N1wvIpdfaY5271AzrV473Hnpk9mva9fbk/eIFbpx0Stx8S/uAw2zNwOq
        qVsfzJW7AgMBAAECgf9p5vcIfPBcuBAU4bjCfA8H/Ae5/FW/4SChugCpvcDA/HUH
        BALn2XI8cpqzyvlZJQa/o4uHnFZjy6joj7wkxSs9M/F5TovCnFp7QvH0WX1ucGhj
        V36DQr+W56BS2eGUF7fIhQE9KYOgziVpUJC5b0bT5/bYqn/tqbe59alirr6abWaT
        JtisfKt/rmfBsWDOUiZSuJNCDlvcbkbrZU0jM+fFXy3Dd/rQ+0MeiEFfGwR9Y2Bp
        N/kGQJ7kvP6LJSdr0TFzy0b1nMMfnuwe5TVXS0MqGR35OXgwBsfJeawTLHWNTOKp
        LltSuxvc3S3pNTPDGDXSpZsKLQlKdcqplVT2m0UCgYEA6qReCEdsXun7xV83I6Bv
        FKSz62bjFCk2xpjAaz7LjtLl+0Y7xb1mBOVkMGC3kq5alcobCg4wYFowFBlYc+zt
        pwMmbHMhxjDFoXOqMa1MfM9IMkDFmoNAG2ba4tNFZha9Ca8iiMWEjJU3ry0E8yfs
        oio3KynUuReNjW8tOE31Oe8CgYEA2MQglmST3yDaw9kEM7RWOGrAJtzlHreuzqBj
        fo0XYuND5QlP7Rt+RLdNL+VCBVrasrar7/TmsRYWaeCiP5FLVtSXMKAD6nsRlyLS
        XS2OD1QqoO0cVHcl4TPlzm3zOQ6xuaFg7cKgnvNgKOKOoQIgnzazymF8c7T0Y9qI
        GKiaHPUCgYEAiDdPl4LPOPKhBN3Xxsj2c4eCI6ChJy0d7YD0A856oblxZcRKIutm
        9GSvGx6qs26gi+C+fcHq96Sj0Kc+IF5lQNWlUsQr0UCzGp1pKlmu064J/ZJ4pNCZ
        QM8fNxrraO6+Y4bWh4wS/QILR5jdDMQarbHQQTCRm7o+pOLr34nyWOUCgYEAm1kz
        4ZSDRU3Oer10/XkosZYPz8pPigwqA3t+0ptbP0uQxPw/g7ZIcAbOEp1DC4NpaNrx
        ri7dhdxGg+qxXM1MKRaCpB6Jr+ozWRVjndOgE+xGAL7tprsdMqB2+dJilWmqhVba
        mIr7ge7541M61Lkpl/EkOM5U2re8zjM3hjSO/mECgYEA0QqHbG79eQ/8GGaZju3w
        T/oqrdrwEJfuWlSOCCLY7dZWlOk8nhAYc75fL6RZIEJrzSfFw+ZRFVvulBiVvSfY
        fj0+EsnWW56mpNGY+Wx2TRvrm9j1FwpLgZQmbh3o/Tdb8fDMi/2tSUaQiv3R24Tt
        1aK+7t0j6hHMJ01O+QNQO18=
        -----END PRIVATE KEY-----
        """
    /// Signs code with a key of 1024 bits.
    package static let short = """
        -----BEGIN CERTIFICATE-----
        MIICIzCCAYygAwIBAgIUchBb7KO3ZBgef8pCqogpmw6aTxkwDQYJKoZIhvcNAQEL
        BQAwEDEOMAwGA1UEAwwFc2hvcnQwIBcNMjYxMTI5MDEyNzU2WhgPMjEyNjExMDUw
        MTI3NTZaMBAxDjAMBgNVBAMMBXNob3J0MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCB
        iQKBgQDgv2UnunfpEz6VMHDcxwkhHA11kNunJTlvdOeS+ZsJImnto+kFDepiaxlP
        1GykqUBGfJEJX/kG6Yb9gcZSKln2Q4L0cA5DKpxyaYJDXUbD2GA4edndleFV9AWc
        ZvdCyCFDqJBY8SJcZF2N0bXPsh5HvC8nvV2l7MrQaAm1FCgPJwIDAQABo3gwdjAd
        BgNVHQ4EFgQUyh333cgVl5jU7xO9fTMHAVUXlE4wHwYDVR0jBBgwFoAUyh333cgV
        l5jU7xO9fTMHAVUXlE4wDgYDVR0PAQH/BAQDAgeAMBYGA1UdJQEB/wQMMAoGCCsG
        AQUFBwMDMAwGA1UdEwEB/wQCMAAwDQYJKoZIhvcNAQELBQADgYEAylTebei0NFV5
        G1LmwDv7ZW4n1p35YWl1shbp4OMK0d/U6wxIGig+LKv8DsMjheWV4CldLSGHbTh2
        mHSDW/rgU4IJwcvFxgsKOD4HFPQV4C+3hD7O6ALn5GDQSdNmh+/mtEVeRs8PWPxZ
        DQ8zt6+0YvpM/Kmri7oZ+WLRe8lmeqQ=
        -----END CERTIFICATE-----
        """
    package static let shortKey = """
        -----BEGIN PRIVATE KEY-----
        MIICeAIBADANBgkqhkiG9w0BAQEFAASCAmIwggJeAgEAAoGBAOC/ZSe6d+kTPpUw
        cNzHCSEcDXWQ26clOW9055L5mwkiae2j6QUN6mJrGU/UbKSpQEZ8kQlf+Qbphv2B
        xlIqWfZDgvRwDkMqnHJpgkNdRsPYYDh52d2V4VX0BZxm90LIIUOokFjxIlxkXY3R
        tc+yHke8Lye9XaXsytBoCbUUKA8nAgMBAAECgYEAyxPmgVl6lD5xZDkbIkMuup4w
        gzTbZVK7bTzDKwkjz8Mq2DItkgWa7kc73ehiKv9MNuTD4Sa5TEejVFn5K7FdCvk1
        +8VWUzZVlZBNdcF2mMxa2hGMmeKU1Lgb8Iaz4t8N+IMnucRGH9xO4fRhIpyrjbJh
        i+IDSvpljDp49KpR6GECQQD0BVxYPvZDu5SKw+gxgW5F/M/XjXYnMxL7INiRsMvs
        /KgS5pRWK+9c4WgL1kgeV4H9vyURT9HEOP5twIMqWkGPAkEA68fTGKyISdz8LMT8
        xQ36HDCp1PYTcs1AgQolyiwGzuWHPFTZ+DpJtVg0dQLIpeXWBBfYiIW+qDwF59SH
        gN1c6QJBAOBXvVp0KDyFTD93dRVuhU9a6kqmB6ZqUl0HCZSIEjPC5VLbIi1HHz0p
        DlszmgIrOZtsDEwqMhRQwbltcCmT6QkCQB8XUIzWY3pp+47jwvkxKKQC/sIoWNQw
        oKrjbaxFNfieZ8Da54tGFGYnZXNwlIjbz+bmRhVqnYONtrGlYuDpT9ECQQDOoCR8
        6P8tYZa4YzgEIly5MTrmTs812sJ2ETo4LTcUEdJvHfsWS/AKvY8Sza62SyZmGU8v
        hrqK4Uls/WjvoQvy
        -----END PRIVATE KEY-----
        """
    /// Is for TLS servers only.
    package static let server = """
        -----BEGIN CERTIFICATE-----
        MIIDJzCCAg+gAwIBAgIURT6qezbay5njoQNyk4jyN1QUsVgwDQYJKoZIhvcNAQEL
        BQAwETEPMA0GA1UEAwwGc2VydmVyMCAXDTI2MTEyOTAxMjc1NloYDzIxMjYxMTA1
        MDEyNzU2WjARMQ8wDQYDVQQDDAZzZXJ2ZXIwggEiMA0GCSqGSIb3DQEBAQUAA4IB
        DwAwggEKAoIBAQDRXCfp4GfQ11qxtkYxzJ1MPoV849GhnbKHmEtyH4Yb3xG4PiUM
        H12pxytt7ZcyH9kyFoI3EwoiAddM4+taEZV+eGaPadd+i+YnYATiUbfxImTvIfM8
        JBZgU3JRh91XBtb15a9qCUYFNe4loSOfNTT4TCa/DTP7n4MvvMcMwFKEowcgO7sK
        L4gXSMk/+DFcj688wp9jFa7sj/tbUTwrrKpMrszkP7KiP+/fn2GxXq1nPnqgqvhC
        UQV2vH3ECDt8+gZ9OWI+OBALiHiunsDSt1m4IWeIaydoHX8saX04MQBXP/isnXep
        n7AEib4WQrDDbIMKuUworT9gMijs4y8PXYBDAgMBAAGjdTBzMB0GA1UdDgQWBBRF
        4ilB+fjuaI+Zi0RF2gA7R9I+/zAfBgNVHSMEGDAWgBRF4ilB+fjuaI+Zi0RF2gA7
        R9I+/zAOBgNVHQ8BAf8EBAMCB4AwEwYDVR0lBAwwCgYIKwYBBQUHAwEwDAYDVR0T
        AQH/BAIwADANBgkqhkiG9w0BAQsFAAOCAQEAvQBjkoRPWfMRwyZ65aZYcPusFzov
        z6gBLk8sbTfDQ94AqF2j7aAMP7z7KLWScAAuo3i32i1RabWoMx0cNgJCfgpRDiHd
        yH45cU1vOO2QULjl5lZQnPEsAvNN66ABdUsfgtB8MK1D/0UUBWPMIS0LZ+vuCrJ1
        mfy83gomYhLrCL3IMnOkT/e19bDEoSy3+X5ZyoC0d8K44jn48Hj1Zpgv4K7o9mR7
        YOrJWFZ0rPpaofSry7gVdJNKdWHxNpQ0ccxD1m44R+Pj9vPi25xVKmUTN3Wg+KQB
        rEc7/shK0VnbwT7NAKyo4eIbpTploUnKJ0IWJgNso12+Fuw2/pIeqb8G3g==
        -----END CERTIFICATE-----
        """
    package static let serverKey = """
        -----BEGIN PRIVATE KEY-----
        MIIEvwIBADANBgkqhkiG9w0BAQEFAASCBKkwggSlAgEAAoIBAQDRXCfp4GfQ11qx
        tkYxzJ1MPoV849GhnbKHmEtyH4Yb3xG4PiUMH12pxytt7ZcyH9kyFoI3EwoiAddM
        4+taEZV+eGaPadd+i+YnYATiUbfxImTvIfM8JBZgU3JRh91XBtb15a9qCUYFNe4l
        oSOfNTT4TCa/DTP7n4MvvMcMwFKEowcgO7sKL4gXSMk/+DFcj688wp9jFa7sj/tb
        UTwrrKpMrszkP7KiP+/fn2GxXq1nPnqgqvhCUQV2vH3ECDt8+gZ9OWI+OBALiHiu
        nsDSt1m4IWeIaydoHX8saX04MQBXP/isnXepn7AEib4WQrDDbIMKuUworT9gMijs
        4y8PXYBDAgMBAAECggEAARneTok9l92UvoaE4VIq1Ecn5eY/ff1u/kOQx1g0blpt
        T24UPSIVGLAmzFHe5QaXL9TqeRECkUyNLfxXioZj0OHKjZ/diu7Va7OXkvvMXy+d
        HvIrbfo1RpW/GNVWwVRp4P/aPPvbgGouMch31X3ZeiInD1jUbdMC75yrN1KeRyWf
        PXGLvW2Aaf4E85nZyrGpYcgbeMRohm0efeK53x0akOxIa7NF/ZnDpCfvWuFYCMJS
        HsgRs7j18j+ONQb3SwrOPYfVnTSgrvreK3Wyj+bkpnyIjaopUK8ShizCHcWoIVVt
        6j3muKHeWUTdsVafW7R1T0HttHggKQ7HlrxCGDXCkQKBgQD19qSteU0CxDxVtpNs
        3PEGY8U9wQwiOsYi07Yjac2GCLwNPIVYPgZSt75KBph9ketgvLSxFYGPgwymtHfc
        5eEs1X1dETspbwc6kiQhq7EjznupsABBMNcI8jYBl9WbwIsiTjPdIYhLrKnnNbC+
        ZBN6opiJpj5HYJYQecgVPvG79QKBgQDZ5yZETR2QGUmlVcu3tv0t9xQ34n9t3p4V
        rdG+waR0dlHQAhM3k3KgL58ahxkwv0YRpO97UnIe5TO18nfeVig87vuKl8OLTCBT
        p7gBfhUmhziHOutozoH5gohvWTjN0XaCb2JzgzJkfRmN76+iaGWmFIQRcLu/Knxr
        gJbFSdggVwKBgQCtXFpVqtmMyaN9BmKCqHd5eXjcPeS/e42Lno0SCNDDWASzj6Ss
        vYrXYorMwjlYyDCOznLNHctjy4pvNWQGXkCHyTHDFxIL8iW2Mqsk0E7aXf7raxHC
        4RmvRIisNshoLx3h4BzOD4RxUhGu1Tjt+LuCBHhfDL14sasTkcJktyjKwQKBgQDC
        5ebqTHdWveeLRFP0PG3zwP2KhsIniWioR1JFZnor2PCQNmrt2Ko78JxEY/X6Dfsk
        KPwyt6lvTN6VrQveB/3xkmfWrKuwWiTH7km8vAM69NNw0RhiI+NJQqG5xnnyTZnM
        TMgoPX7DNsm2lF3py6qvg8Yku0qST/P9S4SPbd8r/QKBgQCuccH8J+ka9jdOQPB5
        kv4buZ56CGN8eE3i/VjdjCzI6wCCMLvux9tJGLOBggwJZIZfHeuPUsVtNBS+OloC
        OZLatqGkxHWeIzIpAu0jcvQt+u+3svE1jjjazlxQg1b8TdR3L5dd1B/IOl4ulztK
        PDtl0itnMfJDwAAbAWYMGjHQBw==
        -----END PRIVATE KEY-----
        """
    /// Signs other certificates.
    package static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIDGzCCAgOgAwIBAgIUIxKM2mQunsB1w3oRzllYCW5qlmIwDQYJKoZIhvcNAQEL
        BQAwFDESMBAGA1UEAwwJYXV0aG9yaXR5MCAXDTI2MTEyOTAxMjc1NloYDzIxMjYx
        MTA1MDEyNzU2WjAUMRIwEAYDVQQDDAlhdXRob3JpdHkwggEiMA0GCSqGSIb3DQEB
        AQUAA4IBDwAwggEKAoIBAQDWwwM0AmJwC0XVv5nN3jE5gAfcKCTyevWxsgSJGuHj
        83enNYSkVxiEeHvLIywfWTJ9wktfQIYjYzwo3yzQxEYe4LwQKr4M19jxlX2hh4KZ
        /OGIvN4fQKlti/+rhOQu/dmDBYBshIr4YJtwGKcqSOOYPikeeg3SWw68unmcotYC
        tcae3k/v4t34WQCyPfEU35NiN1vOJN+xkA8irGkMfIkIE7pwsvbw2gxofCh3wWsy
        k2sN2S03QnsHN94ijQoKDiY/ipfSrHpUX3zKGG8bT6oE5N+X3gjshdIbvX7536wm
        7+hnW9lTSMYrzF1dv05fXRabs6pEr28CF3qmXxF/nJQdAgMBAAGjYzBhMB0GA1Ud
        DgQWBBQzUXU69dhiyqsSWRzGd/0b8o8TjzAfBgNVHSMEGDAWgBQzUXU69dhiyqsS
        WRzGd/0b8o8TjzAOBgNVHQ8BAf8EBAMCAgQwDwYDVR0TAQH/BAUwAwEB/zANBgkq
        hkiG9w0BAQsFAAOCAQEAlcJHwhFcDMORg8pygVAbcuxGZIxHDTQC1EJIP2UBRm6a
        B6tnTT03a/xR0VWP5Mo3KJFcVnE/QHHvBnlxIiwzd34x3m37g5+f9i6uxi/Mnwp5
        IUlXIlG+e3nK553fbFA3PxPGsOrVhO8b5JkdAulcvF/P/jDfGrzYDxT1lUsL5fJ8
        UNiczDrE29oaWr0G5bzS1f6LT3i3t38WHlZj/1o4xQnCvae9jVQByiBp2dSbUMvg
        CvL76ERBqEOglvYMUNmCLzpGqBDpEVi8kXSNWWXCSU0HizqW9TQ4ezXjoNUf+q3N
        EdeKxLW8A7r0M9farCfgvIX+Us1RxuL0PbhOQMjrYw==
        -----END CERTIFICATE-----
        """
    /// Signs certificates of signers, and is signed by `authority`.
    package static let team = """
        -----BEGIN CERTIFICATE-----
        MIIDGTCCAgGgAwIBAgIUS+vFx+Jo5hKVNAGCAhYIKWweb8YwDQYJKoZIhvcNAQEL
        BQAwFDESMBAGA1UEAwwJYXV0aG9yaXR5MCAXDTI2MTEyOTAxMjc1NloYDzIxMjYx
        MTA1MDEyNzU2WjAPMQ0wCwYDVQQDDAR0ZWFtMIIBIjANBgkqhkiG9w0BAQEFAAOC
        AQ8AMIIBCgKCAQEAiOEXh2VRMaSQT0rWIXzPOYAM88fpqVY0g3pisMEED+tqxAD3
        HWjmmWFNOAUOuINNgSDHm5QBzp8tCr0hpvA84UqPtCzKFwgmymS/xoZ11QsbwY0Q
        UTcuHdCr7wYl4be1wzogXACRx9tjZOXvy/IsAN2jhIItWtpAQ2ttjUUE0i72KlG8
        4RRGzTq8wfDGGzjatClBc5+D9T6oip7HRU1jQFkZE5946VaQQlJq329feEBl4Rh0
        y7aOXL1OQAvj2sM85ANh2fGUlPrSDeR+jyQv99KmXk6v7rVCyllsf4MZnZdSAHfE
        S2EwxPsv3krJbEIKQYrvndWywR9lNIlEDaUdrQIDAQABo2YwZDAOBgNVHQ8BAf8E
        BAMCAgQwEgYDVR0TAQH/BAgwBgEB/wIBADAdBgNVHQ4EFgQUDJCn16BvOWpO9R4d
        eyuimwsC6f8wHwYDVR0jBBgwFoAUM1F1OvXYYsqrElkcxnf9G/KPE48wDQYJKoZI
        hvcNAQELBQADggEBANT06ciWsWq5zxKdaLwSyFYbSvFdS/XEbITFz4JFhE5pM50e
        1FBys6rz+1WScn+be0tJG6rcSXdj3fKRuS3U7zatLm0B3qJ8q1J7utbyErI2rUyL
        X5vlNhhXKVIOHwp83mXUaCoyG/YmntVAo7KpmyM9yxq8k3l6GbFZiEzPVSmag7w5
        Dd3LxMhb8UiTw1VPooHIHhs2bjTnX8TG3RwjWtmhhXTOFdQR1gQiIhItMFpalWPQ
        y88zYKVbh988m5KXDZW+omqLDWaFe4uGuUa5EPO7q3BgjnzyYKbyBZc7Az0HAihZ
        vm6jowJFOwljM8louRQD9h3/yCbJp6hhDG4rG60=
        -----END CERTIFICATE-----
        """
    /// Signs code, and is signed by `team`.
    package static let release = """
        -----BEGIN CERTIFICATE-----
        MIIDKTCCAhGgAwIBAgIUEkoYc9thanuk2MT/QfvclE++CxMwDQYJKoZIhvcNAQEL
        BQAwDzENMAsGA1UEAwwEdGVhbTAgFw0yNjExMjkwMTI3NTdaGA8yMTI2MTEwNTAx
        Mjc1N1owEjEQMA4GA1UEAwwHcmVsZWFzZTCCASIwDQYJKoZIhvcNAQEBBQADggEP
        ADCCAQoCggEBAM1OiOmMYb1Yz3G4yLsFVM1y6wQ2Z4H74KkFS4Yy10jGHo/xNq1F
        KSOeB36/YqqNnASJaoskssgdpJPBwsBdhmSN0SG+2d4uVDUJ8ZV+dd5cAt1srnuj
        liKDZyC697sokt6O0ell0KMC1E6w0kaOgumGNqpKS+VhMrnzGMIYuTDP2ezxDHDs
        crJEKhzEUMAFDrATkz1bkwbJObixau3GDQc90XUqR1h2qSjN3J5fVA/9z39Q7BL1
        g2oY6xk5y9xlp8scHt61PqQVf4Hji+3oZoEbAhTPYMpMVg3tz+M5BnXX9/xotOCW
        ZI3QHd85oTa3u58cD+lQ2s4RyYn/1mp6nRMCAwEAAaN4MHYwDgYDVR0PAQH/BAQD
        AgeAMBYGA1UdJQEB/wQMMAoGCCsGAQUFBwMDMAwGA1UdEwEB/wQCMAAwHQYDVR0O
        BBYEFDJh5KjTR6+uAwckV053GlhtqT1VMB8GA1UdIwQYMBaAFAyQp9egbzlqTvUe
        HXsropsLAun/MA0GCSqGSIb3DQEBCwUAA4IBAQAV/XWfhd78Fa1xXDcG2EBW79iz
        wK0fWXu9VBklOvF1HLZgOWq7IS9KF/NLIiWwEQTeQ/a7PLscGW/NyPDZcdGPGPKF
        EwM1upHHsoQdqwIcz5V5eWglo5EyXlMbF00W+6+4nNF9XiDkiQB8R87SRSqjQ13k
        xqrith06P8PDzasocLJeAu1wlIQX9nLZ/NEdNWCzLsT6ddyONzcSEKtqOyT4aTSg
        FeY3S1gfd/+o/iyD/1+Ldrm+zvces3XOfR+/HOtDcP5KXFutLraxpnLVJo0LNqCi
        LDUUCSkjdzGMphA3xLM+08maAuyXCm5Wu9bQ91I9CWu2+FyaQtY3Lk1vFvTR
        -----END CERTIFICATE-----
        """
    package static let releaseKey = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDNTojpjGG9WM9x
        uMi7BVTNcusENmeB++CpBUuGMtdIxh6P8TatRSkjngd+v2KqjZwEiWqLJLLIHaST
        wcLAXYZkjdEhvtneLlQ1CfGVfnXeXALdbK57o5Yig2cguve7KJLejtHpZdCjAtRO
        sNJGjoLphjaqSkvlYTK58xjCGLkwz9ns8Qxw7HKyRCocxFDABQ6wE5M9W5MGyTm4
        sWrtxg0HPdF1KkdYdqkozdyeX1QP/c9/UOwS9YNqGOsZOcvcZafLHB7etT6kFX+B
        44vt6GaBGwIUz2DKTFYN7c/jOQZ11/f8aLTglmSN0B3fOaE2t7ufHA/pUNrOEcmJ
        /9Zqep0TAgMBAAECggEAAsg8coP/Rb8NIX/yU/rtEgwdLhcZwm5mmcPDYektWstx
        2eotdIGmpZ+xm90aFmle24zhnbzgIZLGJvPG5/Zx03SR3fJstLuGb350cmwQZ0nH
        sX4GUmZh469mLO0J6/EIQrTx33/wDGrM17u0lOP4ZYWFFwM72Lrp6Z71ZJlMD2Ky
        kkXKJ+5fHKSOt6Yrq6rM6VF/awf2gj2A7wzVuOORpWEzcYSa/3w1QeuU16SJ26PK
        GoniIq6LhXCkoLuK16W6w0DzAnE/entbg0dWaSCUb0vIJkHTYzrl7nj+DJc/MA69
        5l+nuDJkR5ygKH69yYB2Pk46B7tk/FnB5UJpCrKGOQKBgQD1u3U67OybSc7UjI3w
        CKY717dk0QivCVJifygIP4Nf1GvC3fsS00kybX9xGF61j1/+DfwGvbdn7jo4IIXL
        AFfDi8RbtcGXAfMLl0F3kqzYuW0BNqARgYg7WHvCQ+FD1iUv5IQDQfFKdJlTY3GJ
        NXLdfKzxHzfntvGkueC/WQ0aNQKBgQDV4qea9M9nFOV9FyWRKEsm2jpW8kBRoKS3
        /3j053mDtHtoemi9KF1zrx444vdQl0QNsF3UWvi9fGYoeFmM9aPTHgVHQj5mJlyN
        nJ+8JTQ/5EAVOfv5oA5c3izRf3QjCVjb8w+uPEE6s7ZkkU0nJe7yJ63k/aLhKgAD
        RlhE9xkDJwKBgQC1VZIa2792kK7KdrY/TYKuYm95PDA2SqC7Aq6d95CQ5QZolLq0
        l6pKRjdnU96ACL+DkPpMVy/CyC+6P3W76hLZwIg0TRoAv3WFNicff+OBQsRHwvG4
        OWg4swEQyFqxXpOulek9JipTEVwcByQ/ZmvPOjO885ajrYMAVhKd4a8jiQKBgDar
        6QvC6AEBZmfDMucX1Z3oymDPK4Gx/mjJ9LElOfpgd+sM3xj66GhZqu//lBgVkl+t
        ZU6SsmI9Gh/eI4XUhDvCwLamSCz0QVQxZONC30g1n+vNFouITiOO5wXl/lm2WfBf
        APMYk9PdfBHY0k/fcmSTn++YpbnIcphjssxuHQahAoGBAJtFcZq0uIQZOfnX2l/2
        Nu8WhDC0LK9epvDvw+E6zhrDmCvZ6m/X91WRQYpT41DIBbdgHUlutVslTt0OPRwx
        ahZQcyYQ1wc9We+NBOCNvNfzuAyMwFBQGF15O/Ex2yvU2TuyZqH/G7XpxUSbvM0N
        QqtBkQKqLeEXidRAojPjXQOm
        -----END PRIVATE KEY-----
        """
    /// Signs code, and is signed by `release`, which may not sign certificates.
    package static let forged = """
        -----BEGIN CERTIFICATE-----
        MIIDKzCCAhOgAwIBAgIURmFDCrGHpQb7WHcNDJGR0UiUXLUwDQYJKoZIhvcNAQEL
        BQAwEjEQMA4GA1UEAwwHcmVsZWFzZTAgFw0yNjExMjkwMTI3NTdaGA8yMTI2MTEw
        NTAxMjc1N1owETEPMA0GA1UEAwwGZm9yZ2VkMIIBIjANBgkqhkiG9w0BAQEFAAOC
        AQ8AMIIBCgKCAQEA1VU+1p7xhBZkSYazMntxbSR456wvUtIXv4wc7MB65pBC+yuO
        KR3AMeNaAF7IzvzMmKtiG7tRAp3IwU2tCccBbIiT1oThYl1f2Ox/WSyEfEFJBvfY
        adqJO6hXZhq+jEdK3BkX3AOO0LHRVs2sGRuaKv1H3ePXr1m9yRaft/uAoMbaVDRk
        GSBV19NH/uxlrP3cGOD05K53yRqGvA7xqIQNhOoyA7R0VQJ53BXjS6hyuNca5Q0K
        8AMQKVwRbz3LWfcJo0SDVm1Nml2QqHBt6MevrUr5xxl1Wpu3iAE3quMl1lvzDQBV
        VMhrvtQy/7bTGjTckg7W9dhaSzQvIoYHlFNPmQIDAQABo3gwdjAOBgNVHQ8BAf8E
        BAMCB4AwFgYDVR0lAQH/BAwwCgYIKwYBBQUHAwMwDAYDVR0TAQH/BAIwADAdBgNV
        HQ4EFgQU9TTcz/ZdfFD1AYc7jxwiC87uRP8wHwYDVR0jBBgwFoAUMmHkqNNHr64D
        ByRXTncaWG2pPVUwDQYJKoZIhvcNAQELBQADggEBACYuhxAtFLJ/CAloWc0E9GyB
        bOflv0WmBMxY/ae/Dgur1OBJveSNoPJ/GsJATe36R5LyVn1lyv7HJ+WwY+IuAYbW
        /GCUJSAduXiHg+bhrDDaigk39i2gbR8E3SuLRD8m0Y/mEsXP5Omjzwj7C83l6k6X
        L760oy+hr/e8vseImG1GXmaFI+Ei8DjJpsCwgdXxjXPhO/dItszG0sw9sBaM8Wip
        RTWQTRaS0sEsQwm8D8Zm6JmOfQv49Stg55gV+ukV/IMmuC/kCyBhqLwp4OlxHSAf
        Rdh+tCd36KMuDWJNNbigBSQAReMreD/GTya4hgoj3oKt0QGd7MaWcDjxVAcJaV0=
        -----END CERTIFICATE-----
        """
    package static let forgedKey = """
        -----BEGIN PRIVATE KEY-----
        MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQDVVT7WnvGEFmRJ
        hrMye3FtJHjnrC9S0he/jBzswHrmkEL7K44pHcAx41oAXsjO/MyYq2Ibu1ECncjB
        Ta0JxwFsiJPWhOFiXV/Y7H9ZLIR8QUkG99hp2ok7qFdmGr6MR0rcGRfcA47QsdFW
        zawZG5oq/Ufd49evWb3JFp+3+4CgxtpUNGQZIFXX00f+7GWs/dwY4PTkrnfJGoa8
        DvGohA2E6jIDtHRVAnncFeNLqHK41xrlDQrwAxApXBFvPctZ9wmjRINWbU2aXZCo
        cG3ox6+tSvnHGXVam7eIATeq4yXWW/MNAFVUyGu+1DL/ttMaNNySDtb12FpLNC8i
        hgeUU0+ZAgMBAAECggEAL2Trm7M+jT2LRLF1/LRjf9+fM7rzXYc6yu2GHIvrke8B
        Tns/7z8CjKLJgzULkD6l9pH2rxoHlpj2uYk39OjfFl1mWL13NAryCQeLiERlX5SC
        dJeZ3vRz0grlddPhutj41tqFTDYHI7KpgwsY3ZAeCUhxT6i3aWe6y+Kok69+hVkY
        P3ohR7zM21qEhWlGWdJ5M+M9RL7C5vdgG2YgcJk9ASuYdUWRW/rmFVraGV4DUqy0
        ORz4aEX7lWo97raIPtkDpSAmtpnuwFxf3Cn0rYPr4U2alxeN72NQUVVLLYbrn4Ej
        JoIvP/MYDOwwJ0Vzti2snv66Z9OLG0fGgTsM5npwTQKBgQD1muU6xXJ1yIJf1TOJ
        mnv9vyc0Y+WY49hCtmHvGpTrCVH8PaaX9HcCs/aw7vaO9PqSb2zG5knzTfWNDmBS
        m0OZ4XQKtLgX8x6sNgZ9YvpWACMfp7MNoOKXFRbaWsufWdtQfyL486Y8oDrl6njc
        DHBS2fJxafU+66V9Vt2u/kQrbQKBgQDeXK+DvVLUi3qHAssMfA84Ub56nc3tchUv
        zTauXUnUNeUY1tc+Ajw+0lY/wHqvd2TL6PX8ThPuE1srjkBKqsivdhJSQwE3xpEr
        1QQ9TpGVhiYQm6nRHOhETUcYd2sWxp4r1URBOZad6G96sXnRImTuWdSksZ28SN1V
        Jc7A0OcNXQKBgBAHRNB6FEc1h7SjYFKpn0/nCrLzlgdNT07DQk7taCySliQlDds6
        3A10GzRe0/5uZG/sD6hHXSogu1aySnz5nwbK3NzaAG2nsye/+tpx/C5ioegt9JR+
        HGuJt80WQdWrcpGlSm3+0KmCN3XLwIlz0lzF1nmqVZP+ovU0FxGVjHNdAoGAfGNS
        15ov3LANobrhRSGdDf9EU6k1Cg/YZD4iyZVr+GcRujxsecacVvQoxU7yEnfyjdLK
        0BIJOhPf21SfCGXTD7w38YaEBuRwTxnBXl42OHOrlXzOmSjXkWW9UKV05W/ECXcq
        0GXbqIfe3L6tC113IpJjzqGBQFNuZPRaXSg/KA0CgYAZCIeGp5BMLQz6yPKjUnz3
        LzvORAB2Kf1ABqME+rn3cyDcKnvnEmLy0z34WyD0SiRHV+jmDNhzA2mtzlXYYZnX
        agIv+p0e7GCYt1J7meL441tRCNJviBs1Lx6uoa+OAMMwVpSgaMH4v191UWJ/zFxt
        L0k8LNmpj8nIxtytw1BhSQ==
        -----END PRIVATE KEY-----
        """
}
