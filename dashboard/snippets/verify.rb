require "openssl"

def authentic?(secret, body, header)
  digest = OpenSSL::HMAC.hexdigest("SHA256", secret, body)
  OpenSSL.secure_compare("sha256=#{digest}", header)
end
